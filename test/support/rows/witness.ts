/**
 * SQL of a function `witness(tag)` that leaves a row in `witnessed` which no rollback undoes, as a call of `http_post` would:
 * it writes over a connection of its own. `url`: of the server.
 */
export const witnessSql = (url: string): string => {
  const { hostname, password, port, username } = new URL(url)
  const place = `host=${hostname} port=${port} user=${username} password=${decodeURIComponent(password)}`
  return `
    create extension if not exists dblink;
    create table witnessed (tag text);
    create function witness(tag text) returns void language plpgsql security definer as $witness$ begin
      perform public.dblink_exec('${place} dbname=' || current_database(),
        format('insert into public.witnessed values (%L)', tag));
    end $witness$;
    create function raising(tag text, state text) returns text language plpgsql as $raising$ begin
      perform witness(tag);
      if state = 'divide' then return 1 / length(''); end if;
      if state = 'cast' then return state::int; end if;
      if state = 'dynamic' then execute 'select * from nowhere'; end if;
      if state = 'deallocate' then execute 'deallocate all'; return state; end if;
      if state = 'execute' then execute 'execute nowhere'; end if;
      if state = 'close' then execute 'close nowhere'; end if;
      if state <> '' then raise exception 'refused' using errcode = state; end if;
      return state;
    end $raising$;
    create function raising_row() returns trigger language plpgsql as $raising$ begin
      perform raising(current_setting('request.headers')::json ->> 'x-tag', current_setting('request.headers')::json ->> 'x-state');
      return coalesce(new, old);
    end $raising$;`
}

/** Ways in which `raising` fails, and SQLSTATEs that it raises: each class that may be that of a stale prepared statement. */
export const ways: ReadonlyArray<string> = (
  " divide cast dynamic deallocate execute close " +
  "22023 22012 42883 42P01 42501 0A000 26000 34000 XX000 40001 P0001 23505 53000"
).split(" ")

/** The request's tag and way, which triggers read. */
export const tagged = (tag: string, state: string): Readonly<Record<string, string>> => ({
  "x-tag": tag,
  "x-state": state
})
