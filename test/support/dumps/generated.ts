/** A generator of numbers below a limit, the same for a seed. */
const random = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (state + 0x6d2b79f5) | 0
    let n = Math.imul(state ^ (state >>> 15), 1 | state)
    n = (n + Math.imul(n ^ (n >>> 7), 61 | n)) ^ n
    return ((n ^ (n >>> 14)) >>> 0) % below
  }
}

/** What every generated schema shares; names without schemas in the bodies, as users write them. */
const common: ReadonlyArray<string> = [
  "create schema extensions",
  "create schema app",
  'create schema "Odd name"',
  "create extension hstore with schema extensions",
  "create extension citext with schema extensions",
  "create extension pg_trgm with schema extensions",
  "create extension btree_gist with schema extensions",
  "create type mood as enum ('sad', 'it''s ok', 'happy')",
  "create domain email as citext check (value ~ '@')",
  "create domain positive as numeric(12, 2) default 1 check (value > 0)",
  "create type pair as (a int, b text)",
  "create type span as range (subtype = float8)",
  "create function plain(t text) returns text language plpgsql immutable as $$ begin return lower(t); end $$",
  "create function label(t text) returns text language sql immutable as $$ select plain(t) || '!' $$",
  "create function stamp() returns trigger language plpgsql as $$ begin new.n := coalesce(new.n, 0); return new; end $$",
  "create aggregate joined(text) (sfunc = textcat, stype = text, initcond = '')",
  "create table public.empty ()",
  "insert into empty default values",
  "create sequence app.numbers increment 7 cycle maxvalue 1000",
  "select setval('app.numbers', 42)",
  "create table public.parents (id int primary key, kind text not null default 'x', c citext, d citext)",
  "insert into parents values (1, 'x', 'A', 'a'), (2, 'y', null, 'b')",
  "create view public.seen as select id, nullif(c, d) as n, c is distinct from d as differ from parents",
  "create rule keep as on update to seen do instead update parents set c = new.n where id = old.id and old.n is distinct from new.n",
  "create function loud() returns event_trigger language plpgsql as $$ begin end $$",
  "create event trigger loud on ddl_command_end execute function loud()",
  "select lo_from_bytea(4242, decode(repeat('00ff27', 20000), 'hex'))",
  "comment on large object 4242 is 'three bytes'"
]

/** Types with an expression for row `i`. */
const types: ReadonlyArray<readonly [string, string]> = [
  ["bigint", "i * 4294967296"],
  ["numeric(20, 5)", "i / 3.0"],
  ["float8", "sqrt(i)"],
  ["text", "E'tab\\t line\\n back\\\\slash ' || i"],
  ["citext", "'Mixed' || i"],
  ["email", "'u' || i || '@example.com'"],
  ["positive", "i"],
  ["mood", "(array['sad', 'it''s ok', 'happy'])[1 + i % 3]::mood"],
  ["mood[]", "array['happy', 'sad']::mood[]"],
  ["jsonb", "jsonb_build_object('i', i, 'x', null)"],
  ["json", `('{"b": 1,  "a": ' || i || '}')::json`],
  ["uuid", "md5(i::text)::uuid"],
  ["timestamptz", "timestamptz '2000-01-01 00:00:00.000001+00' + i * interval '1 day'"],
  ["date", "case when i % 5 = 0 then 'infinity' else date '2024-02-29' end"],
  ["interval", "i * interval '1 mon 1 us'"],
  ["bytea", "decode(md5(i::text), 'hex')"],
  ["hstore", "hstore('k', i::text)"],
  ["span", "span(i, i + 0.5)"],
  ["pair", "row(i, 'b')::pair"],
  ["int[]", "array[[i, null], [3, 4]]"],
  ["bit varying(9)", "B'101'"],
  ["inet", "'::1'"],
  ["tsvector", "to_tsvector('english', 'running tables ' || i)"],
  ["xml", "('<a>' || i || '</a>')::xml"],
  ["point", "point(i, -i)"]
]

/** Extras of a table `name` with the columns id, n, t and v; each is complete in itself. */
const extras: ReadonlyArray<(name: string, bare: string, type: string) => ReadonlyArray<string>> = [
  (name) => [`alter table ${name} add s text generated always as (label(t)) stored`],
  (name, bare) => [`create index "${bare} i" on ${name} (plain(t) text_pattern_ops) where plain(t) <> 'x'`],
  (name) => [`create index on ${name} using gin (t gin_trgm_ops)`],
  (name) => [`alter table ${name} add check (plain(t) is distinct from 'no' and nullif(t::citext, 'NO') is not null)`],
  (name) => [`alter table ${name} add exclude using gist (id with =, n with <>)`],
  (name) => [
    `create trigger "on change" before insert or update on ${name} for each row when (new.t is distinct from 'x') execute function stamp()`
  ],
  (name) => [
    `alter table ${name} enable row level security`,
    `create policy "own" on ${name} to public using (nullif(plain(t), 'x') is distinct from 'y')`
  ],
  (name) => [`comment on table ${name} is 'it''s a "table" \\ $$'`, `comment on column ${name}.t is E'two\\nlines'`],
  (name) => [`grant select (id, t), update (t) on ${name} to anon`, `grant insert on ${name} to authenticated`],
  (name, bare) => [`create table ${name.replace(bare, `${bare} kid`)} (extra int) inherits (${name})`],
  (name, bare) => [
    `create materialized view app."${bare} sums" as select n, count(*) as c, nullif(min(t)::citext, 'X') as m from ${name} group by n`,
    `create unique index on app."${bare} sums" (n)`,
    `refresh materialized view app."${bare} sums"`
  ],
  (name, bare) => [`create statistics app."${bare} stat" (dependencies) on id, n from ${name}`],
  (name) => [`alter table ${name} alter n set default nextval('app.numbers')`],
  (name) => [`alter table ${name} add o int generated by default as identity (start 5 increment 3)`],
  (name) => [`alter table ${name} add dropped int`, `alter table ${name} drop dropped, alter t set storage external`],
  (name) => [`alter table ${name} add unique nulls not distinct (id, n) deferrable initially deferred`],
  (name, bare) => [`create publication "${bare} pub" for table ${name} (id, n) where (id > 1)`],
  (name, bare) => [
    `create table app."${bare} parts" (k text, at date) partition by list (plain(k))`,
    `create table app."${bare} a" partition of app."${bare} parts" for values in ('a') partition by hash (at)`,
    `create table app."${bare} a0" partition of app."${bare} a" for values with (modulus 1, remainder 0)`,
    `create table app."${bare} z" partition of app."${bare} parts" default`,
    `create index on app."${bare} parts" (at)`,
    `insert into app."${bare} parts" values ('A', '2020-01-01'), ('b', null)`
  ]
]

/** Statements that create a database of this size, with circular and self-referencing keys, and rows. */
export const generatedSql = (seed: number, tables: number, keys: number): ReadonlyArray<string> => {
  const next = random(seed)
  const names = Array.from({ length: tables }, (_, n) => {
    const bare = n % 7 === 3 ? `T "${n}` : `t${n}`
    const schema = ["public", "app", '"Odd name"'][next(3)] ?? "public"
    return { bare: bare.replaceAll('"', '""'), name: `${schema}."${bare.replaceAll('"', '""')}"` }
  })
  const made = names.flatMap(({ bare, name }) => {
    const [type, value] = types[next(types.length)] ?? ["int", "i"]
    const rows = 1 + next(40)
    const chosen = new Set(Array.from({ length: next(4) }, () => next(extras.length)))
    return [
      `create table ${name} (id int primary key, n int, t text, v ${type})`,
      ...Array.from(chosen, (n) => extras[n]?.(name, bare, type) ?? []).flat(),
      `insert into ${name} (id, n, t, v) select i, i, 'Text ' || i, ${value} from generate_series(1, ${rows}) i`
    ]
  })
  // Each column refers to one table; cycles come by themselves.
  const references = Array.from({ length: keys }, (_, n) => {
    const [from, to] = [names[next(tables)], names[next(tables)]]
    return `alter table ${from?.name} add r${n} int references ${to?.name} ${n % 5 === 0 ? "deferrable initially deferred" : "on delete set null"}`
  })
  return [...common, ...made, ...references, ...names.slice(0, 20).map(({ name }, n) => `update ${name} set n = ${n}`)]
}
