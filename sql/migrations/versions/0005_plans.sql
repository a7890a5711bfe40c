-- What a plan rests on, kept as it was at planning time, so that `explain plan` tells the truth
-- later, too; and what a learner has learned, so that the next one does not begin at nothing.

CREATE TABLE estimate (
    plan_id      integer NOT NULL REFERENCES plan,
    activity     text NOT NULL,                  -- tag
    vm_type      text NOT NULL,
    source       text NOT NULL,                  -- same activation, input size, activity, trace, declared, prior, …
    runtime_s    double precision NOT NULL,      -- median over the activity's activations
    samples      integer NOT NULL,               -- attempts that it rests on
    spread       double precision,               -- sigma of measured / estimated on a log scale; null = too few samples
    measured_on  text[] NOT NULL,                -- VM types whose attempts were used
    PRIMARY KEY (plan_id, activity, vm_type)
);

CREATE TABLE problem (
    plan_id   integer PRIMARY KEY REFERENCES plan,
    document  bytea NOT NULL                     -- activations, edges, sizes, runtimes per VM: compressed msgpack
);

CREATE TABLE policy (
    plan_id     integer PRIMARY KEY REFERENCES plan,
    tag         text NOT NULL,                   -- of the workflow, in all its versions
    algorithm   text NOT NULL,
    policy      jsonb NOT NULL,                  -- made and read by the algorithm alone
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX policy_by_tag ON policy (tag, algorithm, plan_id);
