"""The whole workflow language, files, steering, and a view of every relation."""

from pathlib import Path

from alembic import op

from scicore.provenance.relation_views import refresh_all

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    bind = op.get_bind()
    bind.exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    refresh_all(bind)  # workflows that are stored already get their views, too
