/** Rows of each user in every table that is read. */
export const rowsPerOwner = 3

export const builtIn = "owner = current_setting('request.jwt.sub', true)"

/** Keeps the first caller in the session, as applications do that trust in a session of their own. */
export const cached = "owner = tenant()"

/** The tables that are only read, and their policies. DDL changes those of `changing` while they are read. */
const steady = {
  clean_read: builtIn,
  claims_read: "owner = coalesce(nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub', '')",
  standard_read: "owner = standard_sub()",
  sql_read: "owner = sql_sub()",
  tenant_read: cached
}
const changing = {
  switched: builtIn,
  replaced: "owner = replaced_sub()",
  renamed: builtIn,
  renamed_other: cached,
  recreated: builtIn,
  viewed: builtIn,
  retyped: builtIn,
  widened: builtIn
}
export const steadyTables = Object.keys(steady)
export const changingTables = Object.keys(changing).filter((name) => name !== "renamed_other")

/** The tables that are written, and audited at the end. */
export const writtenTables = ["clean_write", "trigger_write", "changing_write"]

/** A table with `rowsPerOwner` rows of each user and of callers without a JWT. */
export const ownedTable = (name: string, policy: string, users: number) => `
  create table ${name} (id int generated always as identity primary key, owner text not null, body text not null);
  create index on ${name} (owner);
  insert into ${name} (owner, body) select owner, 'of ' || owner || ' é'
    from (select 'u' || n as owner from generate_series(0, ${users - 1}) n union all select '') owners,
      generate_series(1, ${rowsPerOwner});
  alter table ${name} enable row level security;
  create policy own on ${name} using (${policy});
  grant all on ${name} to anon, authenticated;`

const writtenTable = (name: string) => `
  create table ${name} (id int generated always as identity primary key,
    owner text not null default current_setting('request.jwt.sub', true), note text not null,
    writer text not null, last_writer text);
  create index on ${name} (owner);
  alter table ${name} enable row level security;
  create policy own on ${name} using (${builtIn}) with check (${builtIn});
  grant all on ${name} to anon, authenticated;`

/** The settings of a session, and everything else in it that one caller could leave for the next. */
const state = `
  create function state(settings boolean default true) returns jsonb language plpgsql as $body$
  declare last bigint;
  begin
    begin last = lastval(); exception when others then last = null; end;
    return jsonb_build_object(
      'user', current_user, 'session', session_user,
      'claims', current_setting('request.jwt.claims', true), 'sub', current_setting('request.jwt.sub', true),
      'settings', (select jsonb_object_agg(name, setting) from pg_settings
        where settings and context in ('user', 'superuser') and name not in ('search_path', 'application_name')),
      -- An empty pg_temp stays until the end of the session.
      'path', (select jsonb_agg(s) from unnest(current_schemas(true)) s where s not like 'pg_temp%'),
      'tenant', coalesce(current_setting('app.tenant', true), ''),
      'mark', coalesce(current_setting('leak.mark', true), ''),
      'temporary', (select coalesce(jsonb_agg(relname), '[]') from pg_class where relnamespace = pg_my_temp_schema()),
      'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
      'channels', (select coalesce(jsonb_agg(c), '[]') from pg_listening_channels() c),
      'cursors', (select coalesce(jsonb_agg(name), '[]') from pg_cursors where is_holdable),
      'prepared', (select coalesce(jsonb_agg(name), '[]') from pg_prepared_statements where from_sql),
      'seeded', random()::text = any (select draw from seeded),
      'last', last);
  end $body$;
  /* What random() returns after setseed(0.25), which a caller must not meet. */
  create table seeded (draw text);
  do $body$ begin
    perform setseed(0.25);
    for i in 1 .. 50 loop insert into seeded values (random()::text); end loop;
  end $body$;`

/** Functions that run a statement of the caller's choice, in the places where a request runs user code. */
const poisonous = `
  create function poison(statement text) returns int language plpgsql as $$ begin execute statement; return 1; end $$;
  create function poison_and_fail(statement text, state text) returns int language plpgsql as $$
    begin execute statement; raise exception using errcode = state, message = 'raised'; end $$;
  create function poison_and_wait(statement text, seconds float) returns int language plpgsql as $$
    begin execute statement; perform pg_sleep(seconds); return 1; end $$;
  create function poison_quietly(statement text) returns int language plpgsql as $$
    begin begin execute statement; exception when others then null; end; return 1; end $$;
  create function poison_stable(statement text) returns int language plpgsql stable as $$
    begin execute statement; return 1; end $$;
  create table poisons (n int primary key, statement text not null);
  create view poison_view as select n, poison(statement) as done from poisons;
  create table poison_sink (n int);
  create function poison_row() returns trigger language plpgsql as $$
    begin perform poison((select statement from poisons where n = new.n)); return new; end $$;
  create trigger poison before insert on poison_sink for each row execute function poison_row();
  create table poison_check (n int check (poison_of(n)));
  create sequence poison_sequence;
  grant all on poisons, poison_view, poison_sink, poison_check to anon, authenticated;
  grant all on sequence poison_sequence to anon, authenticated;
  /* Throws prepared statements away: all, some by chance, those that a pattern finds, or replaces them by others. */
  create function poison_prepared(how text) returns int language plpgsql as $body$
    declare one record; types text; begin
      for one in select name, statement, parameter_types from pg_prepared_statements loop
        continue when how = 'some' and random() < 0.5;
        continue when how not in ('all', 'some', 'replace') and one.statement !~* how;
        execute format('deallocate %I', one.name);
        continue when how <> 'replace';
        types = array_to_string(one.parameter_types, ', ');
        begin
          execute format('prepare %I%s as %s', one.name, case when types = '' then '' else '(' || types || ')' end,
            case when one.statement ~* 'set_config' then replace(one.statement, '$2', '''u1''') else 'select 1' end);
        exception when others then null; end;
      end loop;
      return 1;
    end $body$;`

export const setupSql = (users: number) => `
  create function sql_sub() returns text language sql stable as $$ select current_setting('request.jwt.sub', true) $$;
  create function standard_sub() returns text language sql stable return current_setting('request.jwt.sub', true);
  create function replaced_sub() returns text language sql stable return current_setting('request.jwt.sub', true);
  create function tenant() returns text language plpgsql stable as $$ begin
    if coalesce(current_setting('app.tenant', true), '') = '' then
      perform set_config('app.tenant', current_setting('request.jwt.sub', true), false);
    end if;
    return current_setting('app.tenant', true);
  end $$;
  create function keeps(value text) returns boolean language plpgsql as $$ begin perform tenant(); return true; end $$;
  create domain kept_text as text check (keeps(value));
  create function keep_row() returns trigger language plpgsql as $$ begin perform tenant(); return new; end $$;
  create function plain_row() returns trigger language plpgsql as $$ begin return coalesce(new, old); end $$;
  create function poison_of(n int) returns boolean language plpgsql as $$
    begin return poison((select p.statement from poisons p where p.n = poison_of.n)) = 1; end $$;
  ${[...Object.entries(steady), ...Object.entries(changing)].map(([name, policy]) => ownedTable(name, policy, users)).join("")}
  create table lists (id int primary key, owner text not null);
  create table tasks (id int generated always as identity primary key, list int not null references lists, owner text not null);
  create index on lists (owner);
  create index on tasks (list);
  insert into lists select n, 'u' || n from generate_series(0, ${users - 1}) n union all select -1, '';
  insert into tasks (list, owner) select list.id, task.owner
    from lists list join lists task on task.id = list.id or task.id = (list.id + 1) % ${users};
  alter table lists enable row level security;
  alter table tasks enable row level security;
  create policy own on lists using (${builtIn});
  create policy own on tasks using (${builtIn});
  grant all on lists, tasks to anon, authenticated;
  create function my_rows() returns setof clean_read language sql stable as $$ select * from clean_read $$;
  create function my_standard_rows() returns setof clean_read language sql stable
    begin atomic select * from clean_read; end;
  create function my_tenant() returns text language plpgsql as $$ begin return tenant(); end $$;
  create function sub_after(seconds float) returns text language plpgsql as $$
    begin perform pg_sleep(seconds); return current_setting('request.jwt.sub', true); end $$;
  create function add_note(note text, writer text) returns text language plpgsql as $$
    declare made text; begin
      insert into clean_write (note, writer) values (note, writer) returning owner into made; return made;
    end $$;
  ${writtenTables.map(writtenTable).join("")}
  create trigger plain before insert or update or delete on trigger_write for each row execute function plain_row();
  ${state}
  ${poisonous}
  create schema if not exists other;
  create table things (place text);
  create table other.things (place text);
  insert into things values ('public');
  insert into other.things values ('other');
  grant usage on schema other to anon, authenticated;
  grant all on things, other.things, seeded to anon, authenticated;
  create function other.state() returns jsonb language sql as $$ select public.state(false) $$;
  grant all on all sequences in schema public to anon, authenticated;
  grant execute on all functions in schema public, other to anon, authenticated;`

/**
 * DDL while the tables are used, which changes whether statements on them run user code and leaves their correct answers
 * as they are. Each entry is executed as one transaction; `turn` alternates.
 */
export const ddl: ReadonlyArray<(turn: boolean, users: number) => string> = [
  (turn) => `alter policy own on switched using (${turn ? cached : builtIn})`,
  (turn) =>
    turn
      ? "create or replace function replaced_sub() returns text language plpgsql stable as $$ begin return tenant(); end $$"
      : "create or replace function replaced_sub() returns text language sql stable return current_setting('request.jwt.sub', true)",
  () => `alter table renamed rename to renamed_third;
    alter table renamed_other rename to renamed; alter table renamed_third rename to renamed_other`,
  (turn, users) => `drop table recreated; ${ownedTable("recreated", turn ? cached : builtIn, users)}`,
  (turn) =>
    turn
      ? `alter table viewed rename to viewed_table;
         create view viewed with (security_invoker) as select * from viewed_table where ${cached};
         grant all on viewed to anon, authenticated`
      : "drop view viewed; alter table viewed_table rename to viewed",
  (turn) => `alter table retyped alter column body type ${turn ? "kept_text" : "text"}`,
  (turn) => `alter table widened ${turn ? "add column extra text default 'none'" : "drop column extra"}`,
  (turn) =>
    turn
      ? "create trigger keep before insert or update on changing_write for each row execute function keep_row()"
      : "drop trigger keep on changing_write",
  (turn) =>
    `alter table changing_write alter column owner set default ${turn ? "tenant()" : "current_setting('request.jwt.sub', true)"}`,
  (turn) => `alter table changing_write ${turn ? "add constraint kept check (keeps(note))" : "drop constraint kept"}`,
  (turn) =>
    `alter policy own on changing_write using (${turn ? cached : builtIn}) with check (${turn ? cached : builtIn})`
]
