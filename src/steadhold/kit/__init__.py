"""The grammar every room speaks. It knows no room, no driver and no clock."""
