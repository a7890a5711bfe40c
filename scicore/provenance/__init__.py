"""What is planned and what happened, in PostgreSQL. SQLAlchemy and psycopg stay in this room."""
