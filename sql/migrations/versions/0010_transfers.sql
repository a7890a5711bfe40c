-- Files of an attempt that were carried between its VM and the run's storage.
CREATE TABLE transfer (
    run_id        integer          NOT NULL,
    activation_id integer          NOT NULL,
    number        integer          NOT NULL,
    way           text             NOT NULL,  -- fetch, upload
    files         integer          NOT NULL,
    cached        integer          NOT NULL,  -- of these, were there already
    size_bytes    bigint           NOT NULL,  -- that went over the network
    seconds       double precision NOT NULL,
    retries       integer          NOT NULL,  -- calls that were repeated
    PRIMARY KEY (run_id, activation_id, number, way),
    FOREIGN KEY (run_id, activation_id, number) REFERENCES attempt (run_id, activation_id, number)
);
