-- question: Where did failed activations run, and which files had they been given?
-- parameter: run = the run's number
-- column: activation = name
-- column: cause = why its last attempt ended
-- column: workspace = where what it left is
-- column: tuple = number of an input tuple
-- column: relation = that the tuple belongs to
-- column: field = that names an input file; empty if the tuple names none
-- column: path = of the input file
-- column: size_bytes = as it was recorded
-- column: sha256 = checksum
-- limit: 10000
WITH failed AS (
    SELECT activation_id, name, attempts
    FROM activation
    WHERE run_id = :run AND state = 'failed'
    ORDER BY activation_id
    LIMIT 10000
)
SELECT failed.name AS activation,
       attempt.cause,
       attempt.workspace,
       used.tuple_id AS tuple,
       relation.name AS relation,
       file.field,
       file.path,
       file.size_bytes,
       file.sha256
FROM failed
JOIN attempt ON attempt.run_id = :run
            AND attempt.activation_id = failed.activation_id
            AND attempt.number = failed.attempts
LEFT JOIN used ON used.run_id = :run AND used.activation_id = failed.activation_id
LEFT JOIN tuple ON tuple.run_id = :run AND tuple.tuple_id = used.tuple_id
LEFT JOIN relation USING (relation_id)
LEFT JOIN file ON file.run_id = :run AND file.tuple_id = used.tuple_id
ORDER BY failed.activation_id, used.tuple_id, file.field
LIMIT 10000
