-- The original system's tables as views, and two columns that spare queries over a million
-- activations their most expensive joins.

ALTER TABLE activation
    ADD COLUMN attempts integer NOT NULL DEFAULT 0;    -- so far; also the number of the latest one
UPDATE activation SET attempts = tried.attempts
FROM (
    SELECT run_id, activation_id, max(number) AS attempts FROM attempt GROUP BY run_id, activation_id
) AS tried
WHERE tried.run_id = activation.run_id AND tried.activation_id = activation.activation_id;

ALTER TABLE attempt
    ADD COLUMN activity_id integer;                    -- its activation's: statistics need no join
UPDATE attempt SET activity_id = activation.activity_id
FROM activation
WHERE activation.run_id = attempt.run_id AND activation.activation_id = attempt.activation_id;
ALTER TABLE attempt ALTER COLUMN activity_id SET NOT NULL;

-- --- the original system's tables ---------------------------------------------------------------
-- docs/schema.md explains their words. What is one number there and two here is put together:
-- run × 2^32 + activity or activation, run × 2^16 + rank of the VM, activity × 2^16 + rank of the
-- relation.

CREATE OR REPLACE VIEW cworkflow AS
SELECT workflow_id AS wkfid, tag, description
FROM workflow;

CREATE OR REPLACE VIEW cactivity AS
SELECT activity.activity_id AS actid,
       activity.workflow_id AS wkfid,
       activity.tag,
       activity.operator AS atype,
       coalesce(
           workflow.definition #>> ARRAY['activities', (activity.position - 1)::text, 'description'],
           ''
       ) AS description,
       activity.command AS activation,
       activity.extractor,
       'F' AS constrained,
       activity.template AS templatedir
FROM activity
JOIN workflow USING (workflow_id);

CREATE OR REPLACE VIEW crelation AS
SELECT side.activity_id * 65536::bigint + side.rank AS relid,
       side.activity_id AS actid,
       side.rtype,
       relation.name AS rname,
       producer.activity_id AS dependency
FROM (
    SELECT activity_id, 0 AS rank, 'OUTPUT' AS rtype, output_relation_id AS relation_id FROM activity
  UNION ALL
    SELECT activity_id, 1, 'INPUT', input_relation_id FROM activity
  UNION ALL
    SELECT activity_id, 1 + position, 'INPUT', relation_id FROM activity_reads
) AS side
JOIN relation USING (relation_id)
LEFT JOIN activity AS producer ON side.rtype = 'INPUT'
                              AND producer.output_relation_id = side.relation_id;

CREATE OR REPLACE VIEW cfield AS
SELECT field.name AS fname,
       crelation.relid,
       field.type AS ftype,
       field.decimal_places AS decimalplaces,
       staging.operation AS fileoperation,
       coalesce(staging.instrumented, false)::text AS instrumented
FROM crelation
JOIN activity ON activity.activity_id = crelation.actid
JOIN workflow USING (workflow_id)
JOIN relation ON relation.workflow_id = activity.workflow_id AND relation.name = crelation.rname
JOIN field USING (relation_id)
LEFT JOIN LATERAL jsonb_to_recordset(
    workflow.definition #> ARRAY['activities', (activity.position - 1)::text, 'staging']
) AS staging (field text, operation text, instrumented boolean)
    ON crelation.rtype = 'INPUT' AND upper(staging.field) = upper(field.name);

CREATE OR REPLACE VIEW eworkflow AS
SELECT run.run_id AS ewkfid,
       run.execution_tag AS tagexec,
       workflow.definition ->> 'experiment_directory' AS expdir,
       workflow.definition ->> 'directory' AS wfdir,
       workflow.tag,
       (workflow.definition ->> 'max_attempts')::integer AS maximumfailures,
       'F' AS userinteraction,
       NULL::double precision AS reliability,
       'F' AS redundancy
FROM run
JOIN workflow USING (workflow_id);

CREATE OR REPLACE VIEW eactivity AS                  -- the subqueries cost nothing where their column is not asked for
SELECT run.run_id * 4294967296 + activity.activity_id AS actid,
       run.run_id AS wkfid,
       activity.tag,
       (
           SELECT CASE
               WHEN count(*) = 0 AND run.state = 'finished' THEN 'FINISHED'
               WHEN count(*) = 0 THEN 'BLOCKED'
               WHEN bool_or(state = 'running') THEN 'RUNNING'
               WHEN bool_or(state = 'ready') AND bool_or(attempts > 0) THEN 'RUNNING'
               WHEN bool_or(state = 'ready') THEN 'READY'
               WHEN bool_or(state = 'locked') THEN 'BLOCKED'
               WHEN bool_and(state = 'finished') THEN 'FINISHED'
               ELSE 'FINISHED_WITH_ERROR'
           END
           FROM activation
           WHERE activation.run_id = run.run_id AND activation.activity_id = activity.activity_id
       ) AS status,
       (
           SELECT min(attempt.started_at)
           FROM activation
           JOIN attempt USING (run_id, activation_id)
           WHERE activation.run_id = run.run_id AND activation.activity_id = activity.activity_id
       ) AS starttime,
       (
           SELECT CASE WHEN bool_and(ended_at IS NOT NULL) THEN max(ended_at) END
           FROM activation
           WHERE activation.run_id = run.run_id AND activation.activity_id = activity.activity_id
       ) AS endtime,
       activity.activity_id AS cactid
FROM run
JOIN activity USING (workflow_id);

CREATE OR REPLACE VIEW emachine AS
SELECT run_id * 65536::bigint + row_number() OVER (PARTITION BY run_id ORDER BY vm) AS machineid,
       host AS hostname,
       vm AS address,
       NULL::double precision AS mflopspersecond
FROM vm;

CREATE OR REPLACE VIEW eactivation AS                -- one row per activation, with what its last attempt says
SELECT activation.run_id * 4294967296 + activation.activation_id AS taskid,
       activation.run_id * 4294967296 + activation.activity_id AS actid,
       (
           SELECT attempt.run_id * 65536::bigint + count(*)
           FROM vm
           WHERE vm.run_id = attempt.run_id AND vm.vm <= attempt.vm
       ) AS machineid,
       attempt.exit_code AS exitstatus,
       attempt.command AS commandline,
       attempt.workspace,
       (
           SELECT count(*)
           FROM attempt AS failed
           WHERE failed.run_id = activation.run_id
             AND failed.activation_id = activation.activation_id
             AND failed.cause <> 'finished'
       ) AS failure_tries,
       attempt.stderr_tail AS terr,
       ''::text AS tout,
       attempt.started_at AS starttime,
       attempt.ended_at AS endtime,
       CASE activation.state
           WHEN 'locked' THEN 'BLOCKED'
           WHEN 'failed' THEN 'FINISHED_WITH_ERROR'
           WHEN 'cancelled' THEN 'ABORT'
           ELSE upper(activation.state)
       END AS status,
       activity.extractor,
       'F' AS constrained,
       activity.template AS templatedir
FROM activation
LEFT JOIN activity USING (activity_id)
LEFT JOIN attempt ON attempt.run_id = activation.run_id
                 AND attempt.activation_id = activation.activation_id
                 AND attempt.number = activation.attempts;

-- What the planner must know about the columns that old queries join and filter by.
CREATE STATISTICS activation_as_actid ON (run_id * 4294967296 + activity_id) FROM activation;
CREATE STATISTICS activation_as_status ON (
    CASE state
        WHEN 'locked' THEN 'BLOCKED'
        WHEN 'failed' THEN 'FINISHED_WITH_ERROR'
        WHEN 'cancelled' THEN 'ABORT'
        ELSE upper(state)
    END
) FROM activation;

CREATE OR REPLACE VIEW efile AS                      -- a row for who made the file and one for everybody who read it
SELECT row_number() OVER (
           ORDER BY touched.run_id, touched.tuple_id, touched.field, touched.activation_id
       ) AS fileid,
       touched.run_id * 4294967296 + activation.activity_id AS actid,
       touched.run_id * 4294967296 + touched.activation_id AS taskid,
       'F' AS ftemplate,
       CASE WHEN staging.instrumented THEN 'T' ELSE 'F' END AS finstrumented,
       substring(touched.path FROM '^(.*/)') AS fdir,
       substring(touched.path FROM '[^/]*$') AS fname,
       touched.size_bytes AS fsize,
       CASE WHEN touched.made THEN activation.ended_at ELSE activation.created_at END AS fdata,
       staging.operation AS foper,
       touched.field AS fieldname
FROM (
    SELECT file.*, tuple.generated_by AS activation_id, true AS made
    FROM file
    JOIN tuple USING (run_id, tuple_id)
    WHERE tuple.generated_by IS NOT NULL
  UNION ALL
    SELECT file.*, used.activation_id, false
    FROM file
    JOIN used USING (run_id, tuple_id)
) AS touched
JOIN activation USING (run_id, activation_id)
JOIN activity USING (activity_id)
JOIN workflow USING (workflow_id)
LEFT JOIN LATERAL jsonb_to_recordset(
    workflow.definition #> ARRAY['activities', (activity.position - 1)::text, 'staging']
) AS staging (field text, operation text, instrumented boolean)
    ON NOT touched.made AND upper(staging.field) = upper(touched.field);
