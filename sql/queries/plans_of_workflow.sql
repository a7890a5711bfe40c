-- question: Which plans of this workflow are there, which belong together, which were run?
-- parameter: run = any run of the workflow
-- column: plan = number
-- column: version = number of the workflow's stored version
-- column: algorithm = that made it
-- column: fleet = that it is for
-- column: makespan_s = predicted
-- column: cost_usd = predicted
-- column: front = first plan of the front that it was made with; empty: it was made alone
-- column: joint = first of the plans of other workflows that share its VMs; empty: it has them alone
-- column: runs = that followed it
-- column: made_at = when
-- limit: 10000
SELECT plan.plan_id AS plan,
       plan.workflow_id AS version,
       plan.algorithm,
       plan.fleet,
       plan.makespan_s,
       plan.cost_usd,
       plan.front_id AS front,
       plan.joint_id AS joint,
       coalesce(counted.runs, 0) AS runs,
       plan.created_at AS made_at
FROM run AS asked
JOIN workflow AS its ON its.workflow_id = asked.workflow_id
JOIN workflow ON workflow.tag = its.tag
JOIN plan ON plan.workflow_id = workflow.workflow_id
LEFT JOIN (
    SELECT plan_id, count(*) AS runs
    FROM run
    GROUP BY plan_id
) AS counted ON counted.plan_id = plan.plan_id
WHERE asked.run_id = :run
ORDER BY plan.plan_id
LIMIT 10000
