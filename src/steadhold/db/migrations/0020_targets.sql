-- Inboxes as targets of schedules and as what a job waits for.
select true;
