-- The totals of a day by channel: 'other_email' and 'other_sms' for messages of no job, 'jobs_email' and 'jobs_sms' for
-- those of jobs. A job has one channel, so its own rows need no more. The rows so far belong to no channel, and the
-- previous release neither writes nor reads the new parts.
alter table analytics_days drop constraint analytics_days_part_check;
alter table analytics_days add constraint analytics_days_part_check
  check (part in ('other', 'jobs', 'job', 'other_email', 'other_sms', 'jobs_email', 'jobs_sms')) not valid;
