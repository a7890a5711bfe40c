-- Until when a run's provenance is written.
ALTER TABLE run ADD COLUMN recorded_at timestamptz;

-- Most rows are changed once or twice, soon after they were made: there is room for that beside them.
ALTER TABLE activation SET (fillfactor = 60);
