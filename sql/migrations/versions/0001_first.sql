-- Provenance of SciCumulus-RL.
--
-- Prospective: workflow, activity, relation, field.    What the scientist wrote.
-- Plan:        plan, assignment.                       Where and when everything should run.
-- Retrospective: run, vm, activation, attempt.         What really happened.
-- Data and lineage: tuple (generated_by), used.        Which data came from which.
--
-- Whatever belongs to a run is numbered within the run by the master, so that nothing has to ask
-- the database for an id: keys are (run_id, activation_id), (run_id, tuple_id) and so on.

CREATE TABLE workflow (
    workflow_id  integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tag          text NOT NULL,
    description  text NOT NULL,
    digest       text NOT NULL UNIQUE,           -- of the definition: loading it again gives the same row
    source       text NOT NULL,                  -- the specification as the user wrote it
    definition   jsonb NOT NULL,                 -- the loaded workflow, without its datasets' rows
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX workflow_by_tag ON workflow (tag);

CREATE TABLE relation (
    relation_id  integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id  integer NOT NULL REFERENCES workflow,
    name         text NOT NULL,
    UNIQUE (workflow_id, name)
);

CREATE TABLE field (
    relation_id  integer NOT NULL REFERENCES relation,
    position     integer NOT NULL,               -- 1, 2, … within the relation
    name         text NOT NULL,
    type         text NOT NULL,                  -- float, string or file
    PRIMARY KEY (relation_id, position)
);

CREATE TABLE activity (
    activity_id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id         integer NOT NULL REFERENCES workflow,
    position            integer NOT NULL,        -- producers stand before their consumers
    tag                 text NOT NULL,
    operator            text NOT NULL,           -- MAP, SPLIT_MAP, FILTER, REDUCE
    command             text NOT NULL,
    extractor           text NOT NULL,
    operand             text[] NOT NULL,         -- fields that REDUCE groups by
    input_relation_id   integer NOT NULL REFERENCES relation,
    output_relation_id  integer NOT NULL REFERENCES relation,
    UNIQUE (workflow_id, tag)
);

CREATE TABLE plan (
    plan_id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id    integer NOT NULL REFERENCES workflow,
    algorithm      text NOT NULL,
    parameters     jsonb NOT NULL,
    seed           bigint NOT NULL,
    fleet          text NOT NULL,                -- 8xt2.micro,1xt2.2xlarge
    fleet_vms      jsonb NOT NULL,               -- the VMs with their types as they were then
    makespan_s     double precision NOT NULL,    -- predicted
    cost_usd       double precision NOT NULL,    -- predicted
    lower_bound_s  double precision NOT NULL,
    planning_s     double precision NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE assignment (
    plan_id     integer NOT NULL REFERENCES plan,
    position    integer NOT NULL,                -- order of execution
    activation  text NOT NULL,                   -- name
    activity    text NOT NULL,                   -- tag
    vm          text NOT NULL,
    start_s     double precision NOT NULL,       -- predicted, from the start of the run
    finish_s    double precision NOT NULL,
    PRIMARY KEY (plan_id, position)
);

CREATE TABLE run (
    run_id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id    integer NOT NULL REFERENCES workflow,
    plan_id        integer NOT NULL REFERENCES plan,
    state          text NOT NULL,                -- prepared, running, finished, failed, stopped, interrupted
    execution_tag  text NOT NULL,
    directory      text NOT NULL,                -- the workspaces' root
    user_name      text NOT NULL,
    host           text NOT NULL,
    version        text NOT NULL,                -- of SciCumulus-RL
    created_at     timestamptz NOT NULL DEFAULT now(),
    started_at     timestamptz,
    ended_at       timestamptz
);

CREATE TABLE vm (
    run_id              integer NOT NULL REFERENCES run,
    vm                  text NOT NULL,           -- id within the run's fleet
    vm_type             text NOT NULL,
    slots               integer NOT NULL,
    price_usd_per_hour  double precision NOT NULL,
    state               text NOT NULL,           -- joining, joined, lost, left
    host                text NOT NULL,
    joined_at           timestamptz,
    left_at             timestamptz,
    PRIMARY KEY (run_id, vm)
);

CREATE TABLE activation (
    run_id         integer NOT NULL REFERENCES run,
    activation_id  integer NOT NULL,
    activity_id    integer NOT NULL REFERENCES activity,
    name           text NOT NULL,                -- activity and path, e.g. mProject.7
    key            text NOT NULL,                -- the same activity on the same values has it in every run
    state          text NOT NULL,                -- locked, ready, running, finished, failed, blocked
    vm             text,                         -- where it waits, runs or ran
    planned        boolean NOT NULL,             -- the plan foresaw it
    blocked_by     integer,                      -- the failed activation that it waits for in vain
    created_at     timestamptz NOT NULL,
    ended_at       timestamptz,
    PRIMARY KEY (run_id, activation_id)
);

CREATE TABLE attempt (
    run_id          integer NOT NULL,
    activation_id   integer NOT NULL,
    number          integer NOT NULL,            -- 1 = first try
    vm              text NOT NULL,
    started_at      timestamptz NOT NULL,
    ended_at        timestamptz,                 -- null while it runs
    cause           text,                        -- finished, exit code, signal, bad output, …
    exit_code       integer,                     -- negative = signal
    command         text,
    workspace       text,
    stderr_tail     text,
    cpu_s           double precision,
    peak_rss_bytes  bigint,
    read_bytes      bigint,
    written_bytes   bigint,
    PRIMARY KEY (run_id, activation_id, number),
    FOREIGN KEY (run_id, activation_id) REFERENCES activation
);

CREATE TABLE tuple (
    run_id        integer NOT NULL REFERENCES run,
    tuple_id      integer NOT NULL,
    relation_id   integer NOT NULL REFERENCES relation,
    path          text NOT NULL,                 -- line of the dataset, then one number per SPLIT_MAP
    values        jsonb NOT NULL,                -- by field name, each exactly as it was written: (values->>'T')::float
    generated_by  integer,                       -- activation; null = it came from a dataset
    PRIMARY KEY (run_id, tuple_id)
);
CREATE INDEX tuple_by_maker ON tuple (run_id, generated_by);

CREATE TABLE used (
    run_id         integer NOT NULL,
    activation_id  integer NOT NULL,
    tuple_id       integer NOT NULL,
    PRIMARY KEY (run_id, activation_id, tuple_id),
    FOREIGN KEY (run_id, activation_id) REFERENCES activation,
    FOREIGN KEY (run_id, tuple_id) REFERENCES tuple
);
CREATE INDEX used_by_tuple ON used (run_id, tuple_id);
