CYPHER 25
// Lists of runs, jobs and reviews, newest first: a page is read in the order of its index, and no further.
CREATE INDEX run_started IF NOT EXISTS
FOR (run:Run) ON (run.client_id, run.started_at, run.id);

CREATE INDEX job_created IF NOT EXISTS
FOR (job:Job) ON (job.client_id, job.created_at, job.id);

CREATE INDEX review_at IF NOT EXISTS
FOR (review:Review) ON (review.client_id, review.at, review.id);
