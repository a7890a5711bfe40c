"""`scicumulus cluster prices`: VM types and what they cost, as known or as of today."""

from __future__ import annotations

import click

from scicore.cli.output import json_option, print_json, print_table, say


@click.command(epilog="Example: scicumulus cluster prices --refresh --region eu-central-1")
@click.argument("types", nargs=-1)
@click.option("--refresh", is_flag=True, help="Ask AWS, and write the answer into the catalog.")
@click.option("--region", metavar="NAME", help="AWS region; default: as boto3 finds it.")
@json_option
def prices(types: tuple[str, ...], refresh: bool, region: str | None, as_json: bool) -> None:
    """VM types and their prices; with TYPES, these alone (also ones that are not known yet).

    --refresh needs credentials that may describe instance types and read the price list.
    """
    from provisioning.catalog import CATALOG, catalog_text, load_tariff, load_types
    from scicore.cli.preparation import base_catalog
    from scicore.config import user_catalog
    from scicore.errors import UsageError
    from scicore.model.money import FREE

    known = dict(base_catalog(None))
    if refresh:
        from provisioning.ec2 import Ec2, Ec2Settings

        file = user_catalog()
        found = Ec2(Ec2Settings(region=region)).prices(known, types or CATALOG.keys())
        own = load_types(file) if file.exists() else {}
        own.update((each.name, each) for each in found)
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".new")
        tariff = load_tariff(file) if file.exists() else FREE
        draft.write_text(catalog_text(own.values(), "from AWS", tariff), encoding="utf-8")
        draft.replace(file)
        known.update(own)
        say(f"{len(found)} prices of today are in {file}")
    if unknown := sorted(set(types) - set(known)):
        raise UsageError(
            f"VM types that are not known: {', '.join(unknown)}", "ask AWS for them with --refresh"
        )
    chosen = [known[name] for name in sorted(types or known)]
    columns = ("name", "slots", "memory_mb", "speed", "price_usd_per_hour", "region")
    rows = [{column: getattr(each, column) for column in columns} for each in chosen]
    if as_json:
        print_json({"vm_types": rows})
        return
    print_table(
        columns,
        [
            (*list(row.values())[:4], f"{row['price_usd_per_hour']:.4f}", row["region"])
            for row in rows
        ],
    )
