"""Queries as users of the original SciCumulus wrote them, on the known runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine

from tests.integration.known_runs import at


def ask(engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(sql)]


def test_the_mean_time_of_every_activity_of_an_execution(known: Engine) -> None:
    sql = """
        select ea.tag, avg(extract(epoch from a.endtime - a.starttime))::float
        from eworkflow w, eactivity ea, eactivation a
        where w.ewkfid = ea.wkfid and ea.actid = a.actid
          and w.tagexec = 'stars-night-1' and w.ewkfid = 1 and a.status = 'FINISHED'
        group by ea.tag order by ea.tag
    """
    assert ask(known, sql) == [("check", 1.0), ("measure", 2.0), ("merge", 5.0)]


def test_what_failed_and_how_often_it_was_tried(known: Engine) -> None:
    sql = """
        select w.tag, ea.tag, a.exitstatus, a.failure_tries, a.workspace, a.terr, a.status
        from eworkflow w
        join eactivity ea on ea.wkfid = w.ewkfid
        join eactivation a on a.actid = ea.actid
        where w.ewkfid = 2 and a.failure_tries > 0
        order by a.taskid
    """
    failed = ("no stars\n", "FINISHED_WITH_ERROR")
    assert ask(known, sql) == [
        ("stars", "measure", 0, 1, "/stars/exp/runs/2/1-2", "", "FINISHED"),
        ("stars", "measure", 3, 2, "/stars/exp/runs/2/2-2", *failed),
        ("stars", "check", 0, 1, "/stars/exp/runs/2/3-2", "", "FINISHED"),
    ]


def test_how_far_the_activities_are(known: Engine) -> None:
    sql = "select tag, status, starttime, endtime from eactivity where wkfid = {} order by cactid"
    assert ask(known, sql.format(1)) == [
        ("measure", "FINISHED", at(1, 0), at(1, 20)),
        ("check", "FINISHED", at(1, 2), at(1, 22)),
        ("merge", "FINISHED", at(1, 24), at(1, 29)),
    ]
    assert ask(known, sql.format(2)) == [
        ("measure", "FINISHED_WITH_ERROR", at(2, 0), at(2, 6)),
        ("check", "FINISHED_WITH_ERROR", at(2, 6), at(2, 10)),
        ("merge", "FINISHED_WITH_ERROR", None, at(2, 10)),
    ]
    assert ask(known, sql.format(3)) == [
        ("measure", "RUNNING", at(3, 0), None),
        ("check", "READY", None, None),
        ("merge", "BLOCKED", None, None),
    ]


def test_how_many_activations_are_in_each_status(known: Engine) -> None:
    sql = """
        select w.ewkfid, a.status, count(*)
        from eworkflow w, eactivity ea, eactivation a
        where w.ewkfid = ea.wkfid and ea.actid = a.actid group by 1, 2 order by 1, 2
    """
    assert ask(known, sql) == [
        (1, "FINISHED", 21),
        (2, "BLOCKED", 2),
        (2, "FINISHED", 2),
        (2, "FINISHED_WITH_ERROR", 1),
        (3, "FINISHED", 1),
        (3, "READY", 2),
        (3, "RUNNING", 1),
    ]


def test_start_and_end_of_an_execution(known: Engine) -> None:
    sql = "select min(act.starttime), max(act.endtime) from eactivity act where act.wkfid = 1"
    assert ask(known, sql) == [(at(1, 0), at(1, 29))]


def test_which_machines_an_execution_used(known: Engine) -> None:
    sql = """
        select emachine.hostname, emachine.address, count(*)
        from emachine
        inner join eactivation on emachine.machineid = eactivation.machineid
        inner join eactivity on eactivation.actid = eactivity.actid
        where eactivity.wkfid = 1
        group by 1, 2 order by 1
    """
    assert ask(known, sql) == [("alpha", "small-1", 15), ("beta", "large-1", 6)]


def test_files_belong_to_who_made_them_and_to_who_read_them(known: Engine) -> None:
    sql = """
        select ea.tag, f.fdir, f.fname, f.fsize, f.fieldname, f.foper, f.finstrumented, f.fdata
        from eactivity ea
        join eactivation a on a.actid = ea.actid
        join efile f on f.taskid = a.taskid and f.actid = ea.actid
        where ea.wkfid = 2 order by f.fileid
    """
    made = ("/stars/exp/runs/2/1-1/", "m.fits", 100, "FILE")
    assert ask(known, sql) == [
        ("measure", "/data/", "1.fits", 1001, "FILE", "COPY", "T", at(2, 0)),
        ("measure", "/data/", "2.fits", 1002, "FILE", "COPY", "T", at(2, 0)),
        ("measure", *made, None, "F", at(2, 5)),
        ("check", *made, None, "F", at(2, 5)),
    ]


def test_the_conceptual_workflow(known: Engine) -> None:
    assert ask(known, "select * from cworkflow") == [(1, "stars", "Stars in images")]
    sql = """
        select a.tag, a.atype, a.description, a.activation, a.extractor, a.constrained,
               a.templatedir
        from cworkflow w join cactivity a on a.wkfid = w.wkfid order by a.actid
    """
    assert ask(known, sql) == [
        ("measure", "MAP", "Take the brightness", "measure %=FILE%", "", "F", ""),
        ("check", "FILTER", "", "check", "", "F", ""),
        ("merge", "REDUCE", "", "merge", "extract", "F", ""),
    ]


def test_relations_tell_their_side_and_whom_they_depend_on(known: Engine) -> None:
    sql = """
        select a.tag, r.rtype, r.rname, d.tag
        from crelation r join cactivity a on a.actid = r.actid
        left join cactivity d on d.actid = r.dependency
        order by r.relid
    """
    assert ask(known, sql) == [
        ("measure", "OUTPUT", "measured", None),
        ("measure", "INPUT", "images", None),
        ("check", "OUTPUT", "checked", None),
        ("check", "INPUT", "measured", "measure"),
        ("merge", "OUTPUT", "catalog", None),
        ("merge", "INPUT", "checked", "check"),
    ]


def test_fields_of_a_relation(known: Engine) -> None:
    sql = """
        select f.fname, f.ftype, f.decimalplaces, f.fileoperation, f.instrumented
        from cfield f join crelation r on r.relid = f.relid
        join cactivity a on a.actid = r.actid
        where a.tag = 'measure' and r.rtype = '{}' order by f.fname
    """
    assert ask(known, sql.format("INPUT")) == [
        ("FILE", "file", None, "COPY", "true"),
        ("ID", "float", None, None, "false"),
    ]
    assert ask(known, sql.format("OUTPUT")) == [
        ("BRIGHTNESS", "float", 1, None, "false"),
        ("FILE", "file", None, None, "false"),
        ("ID", "float", None, None, "false"),
    ]


def test_an_execution_knows_its_directories_and_limits(known: Engine) -> None:
    sql = """
        select tagexec, expdir, wfdir, tag, maximumfailures, userinteraction, reliability,
               redundancy
        from eworkflow where ewkfid = 1
    """
    night = ("stars-night-1", "/stars/exp", "/stars", "stars")
    assert ask(known, sql) == [(*night, 2, "F", None, "F")]


def test_every_number_is_unique_in_its_view(known: Engine) -> None:
    for view, number in (
        ("eworkflow", "ewkfid"),
        ("eactivity", "actid"),
        ("eactivation", "taskid"),
        ("efile", "fileid"),
        ("emachine", "machineid"),
        ("crelation", "relid"),
    ):
        sql = f"select count(*) > 0, count(*) = count(distinct {number}) from {view}"
        assert ask(known, sql) == [(True, True)], view


def test_keys_lead_from_a_tuple_to_the_one_that_it_was_made_from(known: Engine) -> None:
    sql = """
        select input.brightness, output.best
        from stars.checked input join stars.catalog output
            on input.ewkfid = output.ewkfid and input.ok = output.ik
        where output.ewkfid = 1
    """
    assert ask(known, sql) == [(90.0, 100.0)]
