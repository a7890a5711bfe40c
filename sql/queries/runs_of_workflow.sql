-- question: Which runs of this workflow are there, and how did they end?
-- parameter: run = any run of the workflow
-- column: run = number
-- column: version = number of the workflow's stored version
-- column: execution_tag = as the specification calls this execution
-- column: state = prepared, running, paused, finished, failed, stopped or interrupted
-- column: reason = why it was stopped, if it was by a limit
-- column: dispatch = how closely it followed its plan: strict, adaptive or dynamic
-- column: user_name = who started it
-- column: started_at = when
-- column: elapsed_s = from its start to its end, or until now
-- column: algorithm = that made its plan
-- column: fleet = that it ran on
-- column: predicted_s = makespan that the plan foresaw
-- column: activations = known
-- column: finished = of these
-- column: failed = of these, or blocked
SELECT run.run_id AS run,
       run.workflow_id AS version,
       run.execution_tag,
       run.state,
       run.reason,
       run.dispatch,
       run.user_name,
       run.started_at,
       date_part('epoch', coalesce(run.ended_at, now()) - run.started_at) AS elapsed_s,
       plan.algorithm,
       plan.fleet,
       plan.makespan_s AS predicted_s,
       coalesce(counted.activations, 0) AS activations,
       coalesce(counted.finished, 0) AS finished,
       coalesce(counted.failed, 0) AS failed
FROM run AS asked
JOIN workflow AS its ON its.workflow_id = asked.workflow_id
JOIN workflow ON workflow.tag = its.tag
JOIN run ON run.workflow_id = workflow.workflow_id
JOIN plan ON plan.plan_id = run.plan_id
LEFT JOIN (
    SELECT run_id,
           count(*) AS activations,
           count(*) FILTER (WHERE state = 'finished') AS finished,
           count(*) FILTER (WHERE state IN ('failed', 'blocked')) AS failed
    FROM activation
    GROUP BY run_id
) AS counted ON counted.run_id = run.run_id
WHERE asked.run_id = :run
ORDER BY run.run_id
