"""steadhold: durable coordination on PostgreSQL."""
