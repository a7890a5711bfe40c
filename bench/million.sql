-- One run of bench/queries.py: {run} is its number, {c} a tenth of its activations.
--
-- Numbers: project 1…4c, compare 4c+1…8c, correct …9c, shrink …10c, join 10c+1; an activation makes
-- the tuple with its own number + 4c. Every 1000th image fails twice, every 100th at first, every
-- 5000th is a straggler. In runs with even numbers the same names stand at other places, as when
-- programs end in another order: other images fail there, and each 2000th has got other inputs.

UPDATE run SET state = 'failed', started_at = '2026-01-01Z', ended_at = '2026-01-02Z'
WHERE run_id = {run};
UPDATE vm SET state = 'joined', host = 'host-' || vm, joined_at = '2026-01-01Z'
WHERE run_id = {run};

CREATE TEMP TABLE life ON COMMIT DROP AS
SELECT n, activity_id, tag, image, label, name, failed,
       CASE WHEN failed THEN 'failed' WHEN blocked THEN 'blocked' ELSE 'finished' END AS state,
       CASE WHEN blocked THEN 0 WHEN failed OR image % 100 = 1 THEN 2 ELSE 1 END AS attempts,
       CASE WHEN n % 4 = 0 THEN 'large-' || 1 + n / 4 % 8 ELSE 'small-' || 1 + n % 24 END AS vm,
       '2026-01-01Z'::timestamptz + make_interval(secs => 8000 * stage + image / 40.0) AS ready_at,
       (1 + n::bigint * 7919 % 1000 / 250.0) * CASE WHEN image % 5000 = 7 THEN 20 ELSE 1 END AS took_s
FROM (
    SELECT n, tag, stage, image, label, tag || '.' || label AS name,
           tag = 'project' AND image % 1000 = 0 AS failed,
           tag = 'compare' AND image % 1000 = 0 AS blocked
    FROM (
        SELECT *, CASE WHEN {run} % 2 = 0 THEN 1 + image * 7919::bigint % size ELSE image END AS label
        FROM (
        SELECT n,
               (ARRAY[4, 4, 1, 1, 1])[1 + stage] * {c} AS size,
               (ARRAY['project', 'compare', 'correct', 'shrink', 'join'])[1 + stage] AS tag,
               stage,
               n - (ARRAY[0, 4, 8, 9, 10])[1 + stage] * {c} AS image
        FROM (
            SELECT n, width_bucket(n, ARRAY[4 * {c} + 1, 8 * {c} + 1, 9 * {c} + 1, 10 * {c} + 1]) AS stage
            FROM generate_series(1, 10 * {c} + 1) AS n
        ) AS numbered
        ) AS staged
    ) AS labelled
) AS named
JOIN run ON run_id = {run}
JOIN activity USING (workflow_id, tag);

INSERT INTO assignment
SELECT plan_id, n, name, tag, vm, extract(epoch FROM ready_at - '2026-01-01Z'),
       extract(epoch FROM ready_at - '2026-01-01Z') + 2
FROM life, run WHERE run_id = {run};

INSERT INTO tuple
SELECT {run}, image, relation_id, label::text,
       jsonb_build_object(
           'ID', label::text, 'FILE', format('/experiments/mosaics/input/%s.fits', label)
       ), NULL
FROM life, relation WHERE tag = 'project' AND relation.name = 'images';

INSERT INTO tuple
SELECT {run}, n + 4 * {c}, output_relation_id, label::text,
       CASE tag
           WHEN 'project' THEN jsonb_build_object(
               'ID', label::text, 'REGION', 'r' || (label - 1) / 4, 'QUALITY', (label % 997)::text,
               'FILE', format('/experiments/mosaics/runs/%s/project/%s/p.fits', {run}, image)
           )
           WHEN 'compare' THEN jsonb_build_object(
               'ID', label::text, 'REGION', 'r' || (label - 1) / 4, 'DIFFERENCE', (label % 89)::text
           )
           ELSE jsonb_build_object('REGION', 'r' || label, 'QUALITY', (label % 997)::text)
       END,
       n
FROM life JOIN activity USING (activity_id, tag) WHERE state = 'finished';

INSERT INTO file
SELECT run_id, tuple_id, 'FILE', "values" ->> 'FILE', 2000000 + tuple_id % 1000, md5(tuple_id::text)
FROM tuple WHERE run_id = {run} AND "values" ? 'FILE';

INSERT INTO activation
SELECT {run}, n, activity_id, name,
       md5(name || CASE WHEN label % 2000 = 7 THEN {run} ELSE 0 END), state, vm, true,
       CASE WHEN state = 'blocked' THEN n - 4 * {c} END, ready_at,
       ready_at + make_interval(secs => 1 + attempts * took_s), attempts, n, vm
FROM life;

INSERT INTO used
SELECT {run}, n, image FROM life WHERE tag = 'project'
UNION ALL
SELECT {run}, n, image + 4 * {c} FROM life WHERE tag = 'compare' AND state = 'finished'
UNION ALL
SELECT {run}, 8 * {c} + 1 + (image - 1) / 4, n + 4 * {c}
FROM life WHERE tag = 'compare' AND state = 'finished'
UNION ALL
SELECT {run}, n, image + 12 * {c} FROM life WHERE tag = 'shrink'
UNION ALL
SELECT {run}, 10 * {c} + 1, n + 4 * {c} FROM life WHERE tag = 'shrink';

INSERT INTO attempt
SELECT {run}, n, number, vm,
       ready_at + make_interval(secs => 1 + (number - 1) * took_s),
       ready_at + make_interval(secs => 1 + number * took_s),
       CASE WHEN number = attempts AND NOT failed THEN 'finished' ELSE 'exit code' END,
       CASE WHEN number = attempts AND NOT failed THEN 0 ELSE 1 END,
       'program ' || name, format('/experiments/mosaics/runs/%s/%s-%s', {run}, name, number), '',
       took_s * 0.9, 100000000 + n % 1000000, 2000000, 2000000, activity_id
FROM life, generate_series(1, 2) AS number
WHERE number <= attempts;

INSERT INTO steering
VALUES ({run}, 1, 'pause', NULL, '[]', 'ada@lab', '2026-01-01Z', '2026-01-01Z', 'paused');
