-- Who sizes the run's activations, with parameters; empty = they get what they declare.
ALTER TABLE run ADD COLUMN sizing text NOT NULL DEFAULT '';

-- What an attempt got. Only of attempts that were sized, or that take more than one slot.
CREATE TABLE allocation (
    run_id integer,
    activation_id integer,
    number integer,
    cpus integer NOT NULL,
    memory_mb integer,       -- its limit; null = none
    asked_cpus integer,      -- as declared; null = it was not sized
    asked_memory_mb integer, -- null = not said
    input_bytes bigint,
    because text,
    PRIMARY KEY (run_id, activation_id, number),
    FOREIGN KEY (run_id, activation_id) REFERENCES activation (run_id, activation_id)
);

-- What an activity's program was in a run: measurements of another one say nothing about it.
CREATE TABLE program (
    run_id integer REFERENCES run (run_id),
    activity_id integer REFERENCES activity (activity_id),
    digest text NOT NULL,
    PRIMARY KEY (run_id, activity_id)
);
