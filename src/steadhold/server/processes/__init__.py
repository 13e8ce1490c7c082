"""One server of several processes: a parent that binds the listener, and children that each serve it.

A child is a whole server: it shares with its siblings what any servers share, which is PostgreSQL, and the listener.
The parent starts it, starts it again when it ends, and stops it; it carries no request.
"""
