-- How closely a run followed its plan, and why it left it.

ALTER TABLE run
    ADD COLUMN dispatch text NOT NULL DEFAULT 'strict',  -- strict, adaptive, dynamic
    ADD COLUMN reason text NOT NULL DEFAULT '';          -- why it was stopped, if not by the user
ALTER TABLE run ALTER COLUMN dispatch SET DEFAULT 'adaptive';  -- older runs kept to their VMs

ALTER TABLE vm
    ADD COLUMN reason text NOT NULL DEFAULT '';          -- why it was drained

ALTER TABLE activation
    ADD COLUMN position integer,                         -- in the plan; empty: not foreseen
    ADD COLUMN planned_vm text,                          -- of the plan
    ADD COLUMN moved_because text NOT NULL DEFAULT '';   -- why vm is another one

UPDATE activation
SET position = assignment.position,
    planned_vm = assignment.vm,
    moved_because = CASE WHEN assignment.vm <> activation.vm THEN 'lost vm' ELSE '' END
FROM run
JOIN assignment USING (plan_id)
WHERE run.run_id = activation.run_id AND assignment.activation = activation.name;
UPDATE activation SET moved_because = 'unforeseen' WHERE NOT planned AND vm <> 'master';

ALTER TABLE attempt
    ADD COLUMN redundant boolean NOT NULL DEFAULT false; -- beside another one that took too long

CREATE OR REPLACE VIEW eworkflow AS
SELECT run.run_id AS ewkfid,
       run.execution_tag AS tagexec,
       workflow.definition ->> 'experiment_directory' AS expdir,
       workflow.definition ->> 'directory' AS wfdir,
       workflow.tag,
       (workflow.definition ->> 'max_attempts')::integer AS maximumfailures,
       'F' AS userinteraction,
       nullif((workflow.definition ->> 'reliability')::double precision, 0) AS reliability,
       CASE WHEN (workflow.definition ->> 'redundancy')::boolean THEN 'T' ELSE 'F' END AS redundancy
FROM run
JOIN workflow USING (workflow_id);
