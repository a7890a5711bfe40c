-- The rest of the language (0001 has its core), files and steering.

DO $$
BEGIN
    IF current_setting('server_version_num')::integer < 160000 THEN
        RAISE EXCEPTION USING MESSAGE = 'PostgreSQL 16 or newer is needed, this is ' || version();
    END IF;
END
$$;

-- --- prospective: what the scientist wrote ------------------------------------------------------

ALTER TABLE field
    ADD COLUMN decimal_places integer;                 -- of a float; null = as it is written

ALTER TABLE activity
    ADD COLUMN alias        text NOT NULL DEFAULT '',  -- its own name for its input relation
    ADD COLUMN template     text NOT NULL DEFAULT '',  -- directory that a workspace starts as a copy of
    ADD COLUMN cpus         text NOT NULL DEFAULT '1', -- a number, or a tag that gives one; so the next two
    ADD COLUMN memory_mb    text NOT NULL DEFAULT '0', -- 0 = not said
    ADD COLUMN runtime_s    text NOT NULL DEFAULT '',  -- expected; empty = not said
    ADD COLUMN timeout_s    double precision NOT NULL DEFAULT 0,      -- 0 = none
    ADD COLUMN environment  jsonb NOT NULL DEFAULT '{}';              -- variables by name

CREATE TABLE activity_reads (                          -- what MR_QUERY reads besides its input relation
    activity_id  integer NOT NULL REFERENCES activity,
    position     integer NOT NULL,                     -- 1, 2, …
    relation_id  integer NOT NULL REFERENCES relation,
    alias        text NOT NULL,                        -- the query's own name for it
    PRIMARY KEY (activity_id, position)
);

-- --- retrospective: what happened ---------------------------------------------------------------

CREATE TABLE file (                                    -- named by a tuple's field
    run_id      integer NOT NULL,
    tuple_id    integer NOT NULL,
    field       text NOT NULL,
    path        text NOT NULL,
    size_bytes  bigint NOT NULL,
    sha256      text NOT NULL,                         -- hexadecimal
    PRIMARY KEY (run_id, tuple_id, field),
    FOREIGN KEY (run_id, tuple_id) REFERENCES tuple
);
CREATE INDEX file_by_path ON file USING hash (path);   -- of any length, which a B-tree would refuse

CREATE TABLE steering (                                -- what users asked of a run while it went on
    run_id        integer NOT NULL REFERENCES run,
    number        integer NOT NULL,                    -- 1, 2, … within the run
    action        text NOT NULL,                       -- cancel, pause, resume
    activity      text,                                -- tag; null = the whole run
    conditions    jsonb NOT NULL,                      -- [{field, operator, value}]: only tuples like this
    requested_by  text NOT NULL,                       -- user@host
    requested_at  timestamptz NOT NULL DEFAULT now(),
    handled_at    timestamptz,                         -- null = the master has not seen it yet
    outcome       text,
    PRIMARY KEY (run_id, number)
);
