-- A cluster that was asked for. Its name can be used again when it has ended.
CREATE TABLE cluster (
    cluster_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    owner text NOT NULL,
    provider text NOT NULL,
    fleet text NOT NULL,
    plan_id integer REFERENCES plan (plan_id),
    estimate_usd double precision,
    lease_until timestamptz NOT NULL,
    wanted text NOT NULL,
    complete boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE UNIQUE INDEX cluster_open ON cluster (name) WHERE ended_at IS NULL;

-- VMs of one type that were about to be asked for: written before the provider was called.
CREATE TABLE intent (
    token text PRIMARY KEY,
    cluster_id integer NOT NULL REFERENCES cluster (cluster_id),
    vm_type jsonb NOT NULL,
    vms text[] NOT NULL,
    spot boolean NOT NULL,
    lease_until timestamptz NOT NULL,
    intended_at timestamptz NOT NULL,
    outcome text
);
CREATE INDEX intent_by_cluster ON intent (cluster_id);

-- What the provider gave.
CREATE TABLE instance (
    token text REFERENCES intent (token),
    vm text,
    instance text NOT NULL,
    launched_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (token, vm)
);
