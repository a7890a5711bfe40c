-- What the solver that `mdp` has chosen brought about: one row per real run, plain facts, from which
-- transition probabilities and costs are learned again whenever a plan is made.
CREATE TABLE experience (
    run_id       integer PRIMARY KEY REFERENCES run,
    tag          text NOT NULL,                  -- of the workflow, in all its versions
    solver       text NOT NULL,                  -- its settings
    hour         integer NOT NULL,               -- of the day, when it was chosen
    load         double precision NOT NULL,      -- activations running or waiting, per slot, then
    result       text NOT NULL,                  -- of the run before: success or failure
    next_hour    integer NOT NULL,               -- the same three when the run had ended
    next_load    double precision NOT NULL,
    next_result  text NOT NULL,
    cost_usd     double precision NOT NULL,      -- of the run's VMs
    makespan_s   double precision NOT NULL
);
CREATE INDEX experience_by_tag ON experience (tag, run_id);
