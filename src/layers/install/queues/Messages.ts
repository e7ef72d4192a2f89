import { fixedPath } from "./Tables.ts"

const columns = (of: string) =>
  ["msg_id", "read_ct", "enqueued_at", "last_read_at", "vt", "message", "headers"]
    .map((name) => `${of}.${name}`)
    .join(", ")

const group = (of: string) => `coalesce(${of}.headers->>''x-pgmq-group'', '''')`

/** Variants of a function that leave out headers or delay, or give the delay in seconds. `type` is that of messages. */
const variants = (name: string, argument: string, type: string) => {
  const call = (headers: string, delay: string) =>
    `returns setof bigint language sql ${fixedPath}
       begin atomic select * from pgmq.${name}(queue_name, ${argument}, ${headers}, ${delay}); end`
  const given = `create function pgmq.${name}(queue_name text, ${argument} ${type}`
  const none = `null::${type}`
  const seconds = "clock_timestamp() + pgmq.svc_seconds('The delay', delay)"
  return [
    `${given}) ${call(none, "clock_timestamp()")}`,
    `${given}, headers ${type}) ${call("headers", "clock_timestamp()")}`,
    `${given}, delay integer) ${call(none, seconds)}`,
    `${given}, delay timestamptz) ${call(none, "delay")}`,
    `${given}, headers ${type}, delay integer) ${call("headers", seconds)}`
  ]
}

const sending = [
  `create function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay timestamptz) returns setof bigint
     language plpgsql ${fixedPath} as $$
   begin
     return query execute format('insert into %s (vt, message, headers) values ($1, $2, $3) returning msg_id',
       pgmq.svc_table('q', queue_name)) using delay, msg, headers;
   end $$`,
  `create function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay timestamptz)
     returns setof bigint language plpgsql ${fixedPath} as $$
   begin
     if cardinality(headers) <> cardinality(msgs) then
       raise invalid_parameter_value using message = 'There must be as many headers as messages, or none';
     end if;
     return query execute format('insert into %s (vt, message, headers)
       select $1, m, h from unnest($2, coalesce($3, ''{}'')) with ordinality u(m, h, n) order by n returning msg_id',
       pgmq.svc_table('q', queue_name)) using delay, msgs, headers;
   end $$`,
  ...variants("send", "msg", "jsonb"),
  ...variants("send_batch", "msgs", "jsonb[]")
]

/**
 * Moves messages that were read as often as the queue allows to the queue of dead letters: those that the caller may update,
 * among the first `look` visible ones. Gives how often a message may be read, and no reader takes one that was read as often.
 */
const burying = `create function pgmq.svc_bury(queue_name text, look bigint) returns integer language plpgsql ${fixedPath} as $$
   declare
     q text := pgmq.svc_table('q', queue_name);
     most integer := pgmq.svc_max_reads(queue_name);
     dead bigint;
   begin
     if most is null then return 2147483647; end if;
     if not has_table_privilege(q, 'update') then return most; end if;
     for dead in execute format('select msg_id from %s where msg_id in (
         select f.msg_id from (select msg_id, read_ct from %1$s where vt <= $1 order by msg_id limit $2) f where f.read_ct >= $3)
       order by msg_id for update skip locked', q) using clock_timestamp(), look, most
     loop
       execute format('update %s set enqueued_at = enqueued_at where msg_id = $1', q) using dead;
     end loop;
     return most;
   end $$`

/** Reads what `picked` selects: `$1` is the time, `$2` how many, `$3` for how long they are invisible then, `$4` how often they may be read. */
const taken = (picked: string, order: string) => `with picked as materialized (${picked}),
       taken as (update %1$s m set read_ct = m.read_ct + 1, last_read_at = $1, vt = $1 + $3
         from picked p where m.msg_id = p.msg_id and m.vt <= $1 returning ${columns("m")}, p.place)
     select ${columns("t")} from taken t order by ${order}`

/** Visible messages that are looked at for dead letters; those of other groups may be in front of one. */
const look = { first: 100, grouped: 1_000 } as const

const begin = (first: number) => `if qty is null or qty < 0 then
       raise invalid_parameter_value using message = 'The number of messages must be 0 or more';
     end if;
     most := pgmq.svc_bury(queue_name, qty::bigint + ${first});`
const declared = "declare most integer;"

/** The function again, which waits for messages by asking over and over, as the extension does. */
const polling = (
  name: string,
  more = "",
  pass = ""
) => `create function pgmq.${name}_with_poll(queue_name text, vt integer,
     qty integer, max_poll_seconds integer default 5, poll_interval_ms integer default 100${more})
     returns setof pgmq.message_record language plpgsql ${fixedPath} as $$
   declare
     until timestamptz := clock_timestamp() + pgmq.svc_seconds('The time to wait', max_poll_seconds);
   begin
     loop
       return query select * from pgmq.${name}(queue_name, vt, qty${pass});
       if found or clock_timestamp() >= until then return; end if;
       perform pg_sleep(greatest(coalesce(poll_interval_ms, 100), 10) / 1000.0);
     end loop;
   end $$`

/**
 * Reading in the order of groups. The first message of a group, which must be visible, is locked for the group: another
 * reader skips it. A group's messages are taken up to the first invisible one.
 */
const grouped = (name: string, order: string) => `create function pgmq.${name}(queue_name text, vt integer, qty integer)
     returns setof pgmq.message_record language plpgsql ${fixedPath} as $$
   ${declared}
   begin
     ${begin(look.grouped)}
     return query execute format('${taken(
       `with heads as materialized (
         select h.msg_id, ${group("h")} as g from %1$s h
         where h.vt <= $1 and h.read_ct < $4 and not exists (select from %1$s e where ${group("e")} = ${group("h")} and e.msg_id < h.msg_id)
         order by h.msg_id limit $2 for update of h skip locked)
       select f.msg_id, row_number() over (order by ${order}) as place
       from heads h cross join lateral (
         select b.msg_id, row_number() over (order by b.msg_id) as n from %1$s b
         where ${group("b")} = h.g and b.msg_id >= h.msg_id and b.msg_id < coalesce(
           (select min(x.msg_id) from %1$s x where ${group("x")} = h.g and (x.vt > $1 or x.read_ct >= $4)), 9223372036854775807)
         order by b.msg_id limit $2) f
       order by ${order} limit $2`,
       "t.place"
     )}', pgmq.svc_table('q', queue_name)) using clock_timestamp(), qty, pgmq.svc_seconds('The visibility timeout', vt), most;
   end $$`

const reading = [
  burying,
  `create function pgmq.read(queue_name text, vt integer, qty integer, conditional jsonb default '{}')
     returns setof pgmq.message_record language plpgsql ${fixedPath} as $$
   ${declared}
   begin
     ${begin(look.first)}
     return query execute format('${taken(
       `select msg_id, msg_id as place from %1$s where vt <= $1 and read_ct < $4 and ($5 = ''{}'' or message @> $5)
       order by msg_id limit $2 for update skip locked`,
       "t.msg_id"
     )}', pgmq.svc_table('q', queue_name))
       using clock_timestamp(), qty, pgmq.svc_seconds('The visibility timeout', vt), most, coalesce(conditional, '{}');
   end $$`,
  grouped("read_grouped", "h.msg_id, f.n"),
  grouped("read_grouped_rr", "f.n, h.msg_id"),
  polling("read", ", conditional jsonb default '{}'", ", conditional"),
  polling("read_grouped"),
  polling("read_grouped_rr"),
  `create function pgmq.pop(queue_name text, qty integer default 1) returns setof pgmq.message_record
     language plpgsql ${fixedPath} as $$
   ${declared}
   begin
     ${begin(look.first)}
     return query execute format('with picked as materialized (
         select msg_id from %1$s where vt <= $1 and read_ct < $3 order by msg_id limit $2 for update skip locked),
       taken as (delete from %1$s m using picked p where m.msg_id = p.msg_id returning ${columns("m")})
       select ${columns("t")} from taken t order by t.msg_id', pgmq.svc_table('q', queue_name)) using clock_timestamp(), qty, most;
   end $$`
]

const one = (name: string) => `create function pgmq.${name}(queue_name text, msg_id bigint) returns boolean
     language sql ${fixedPath} begin atomic select exists (select from pgmq.${name}(queue_name, array[msg_id])); end`

const setting = (type: string, at: string) => [
  `create function pgmq.set_vt(queue_name text, msg_ids bigint[], vt ${type}) returns setof pgmq.message_record
     language plpgsql ${fixedPath} as $$
   begin
     return query execute format('update %s m set vt = $2 where m.msg_id = any($1) returning ${columns("m")}',
       pgmq.svc_table('q', queue_name)) using msg_ids, ${at};
     perform pgmq.svc_notify(queue_name);
   end $$`,
  `create function pgmq.set_vt(queue_name text, msg_id bigint, vt ${type}) returns setof pgmq.message_record
     language sql ${fixedPath} begin atomic select * from pgmq.set_vt(queue_name, array[msg_id], vt); end`
]

const finishing = [
  `create function pgmq.delete(queue_name text, msg_ids bigint[]) returns setof bigint language plpgsql ${fixedPath} as $$
   begin
     return query execute format('delete from %s where msg_id = any($1) returning msg_id',
       pgmq.svc_table('q', queue_name)) using msg_ids;
   end $$`,
  `create function pgmq.archive(queue_name text, msg_ids bigint[]) returns setof bigint language plpgsql ${fixedPath} as $$
   begin
     return query execute format('with gone as (delete from %s m where m.msg_id = any($1) returning ${columns("m")})
       insert into %s (msg_id, read_ct, enqueued_at, last_read_at, vt, message, headers)
       select ${columns("gone")} from gone returning msg_id',
       pgmq.svc_table('q', queue_name), pgmq.svc_table('a', queue_name)) using msg_ids;
   end $$`,
  one("delete"),
  one("archive"),
  ...setting("timestamptz", "vt"),
  ...setting("integer", "clock_timestamp() + pgmq.svc_seconds('The visibility timeout', vt)")
]

/** What is done with messages. Every function has its caller's rights, on the tables of the queue. */
export const queueMessages: ReadonlyArray<string> = [...sending, ...reading, ...finishing]
