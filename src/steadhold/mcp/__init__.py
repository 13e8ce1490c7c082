"""The agent's door: tools over the doors of the rooms, for any client of the Model Context Protocol."""
