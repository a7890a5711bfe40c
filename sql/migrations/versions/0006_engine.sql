-- How often an MPI job was started for the run, and how many batches of facts it has recorded.
ALTER TABLE run ADD COLUMN launches integer NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN batches bigint NOT NULL DEFAULT 0;

-- When the master gave the attempt to its VM, how long its workspace took, which slot it had.
ALTER TABLE attempt ADD COLUMN granted_at timestamptz;
ALTER TABLE attempt ADD COLUMN stage_s double precision;
ALTER TABLE attempt ADD COLUMN slot integer;
