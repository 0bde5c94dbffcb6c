-- What a send writes, made smaller: fewer indexes, and such as grow at their end.

-- What a list of one org is searched by, as numbers in one index: of every tag one that is not negative, of every
-- recipient a negative one. Different words may share a number, so whoever searches compares the words as well.
alter table messages add column marks integer[] not null default '{}';

create function pg_temp.crc32(word text) returns bigint language plpgsql as $$
declare
  bytes bytea := convert_to(word, 'UTF8');
  rest bigint := 4294967295;
begin
  for place in 0 .. length(bytes) - 1 loop
    rest := rest # get_byte(bytes, place);
    for step in 1 .. 8 loop
      rest := (rest >> 1) # case when rest & 1 = 1 then 3988292384 else 0 end;
    end loop;
  end loop;
  return rest # 4294967295;
end $$;

update messages m set marks =
  array(select (pg_temp.crc32(m.org_id || ' ' || tag) & 2147483647)::integer from unnest(m.tags) as tag)
  || array(select ((pg_temp.crc32(m.org_id || ' ' || lower(one)) & 2147483647) - 2147483648)::integer
    from unnest(m.to_addresses) as one);

drop index messages_to;
drop index messages_tags;
drop function tags_in(text, text[]);
create index messages_marks on messages using gin (marks);

-- Pages are read from their end: an index in the order of writing grows there, and its pages fill up.
drop index messages_page;
drop index messages_tenant_page;
drop index messages_project;
create index messages_page on messages (org_id, channel, environment, created_at, id);
create index messages_tenant_page on messages (tenant_id, channel, environment, created_at, id)
  where tenant_id is not null;
create index messages_project on messages (project_id, channel, environment, created_at, id);

-- Events leave in the order of their time and are looked for in no other.
drop index events_waiting;
alter table events drop constraint events_pkey;
alter table events add primary key (created_at, id);

-- The id of an entry begins with its time.
drop index audit_entries_page;
drop index audit_entries_age;

-- Kept to be looked at, not to be searched: JSON as it was written.
drop index local_outbox_page;
alter table local_outbox alter column mail type text using mail::text;

-- Its statements are planned once. Left to itself the database plans them anew for every call, which takes longer than
-- what they do.
alter function reserve_usage set plan_cache_mode = force_generic_plan;
