import { Effect } from "effect"
import { StartError } from "../process/StartError.ts"
import { type Ask } from "./Servers.ts"

/** Objects of extensions come from the extension, whose version may be another one. */
const ofExtension = (catalogue: string, oid: string) =>
  `exists (select from pg_depend d where d.classid = 'pg_catalog.${catalogue}'::regclass and d.objid = ${oid} and d.deptype = 'e')`

const users = (schema: string) => `${schema} !~ '^pg_' and ${schema} <> 'information_schema'`

/** Grants as one text. MAINTAIN is part of all privileges since PostgreSQL 17. */
const grants = (acl: string, kind: string, owner: string) =>
  `(select string_agg(format('%s:%s:%s', case a.grantee when 0 then 'public' else pg_get_userbyid(a.grantee) end, a.privilege_type, a.is_grantable), ',' order by pg_get_userbyid(a.grantee), a.privilege_type)
    from aclexplode(coalesce(${acl}, acldefault(${kind}, ${owner}))) a where a.privilege_type <> 'MAINTAIN')`

/** Catalogues of objects that are compared by what they are called. */
const named =
  "pg_attrdef pg_cast pg_collation pg_conversion pg_default_acl pg_event_trigger pg_foreign_data_wrapper pg_foreign_server pg_language pg_opclass pg_operator pg_opfamily pg_publication pg_publication_rel pg_rewrite pg_statistic_ext pg_transform pg_ts_config pg_ts_dict pg_ts_parser pg_ts_template pg_user_mapping".split(
    " "
  )

/** Every object of a database as `what` and its properties as `how`, both in a form that both versions write alike. */
const objectsSql = [
  `select 'schema ' || quote_ident(n.nspname) as what, concat_ws(' ', pg_get_userbyid(n.nspowner), ${grants("n.nspacl", "'n'", "n.nspowner")}, obj_description(n.oid, 'pg_namespace')) as how
   from pg_namespace n where ${users("n.nspname")} and not ${ofExtension("pg_namespace", "n.oid")}`,
  `select 'relation ' || c.oid::regclass::text, concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.relreplident,
     pg_get_userbyid(c.relowner), case when c.relkind not in ('i', 'I', 'c') then ${grants("c.relacl", "case c.relkind when 'S' then 's'::\"char\" else 'r' end", "c.relowner")} end,
     array_to_string(c.reloptions, ','), obj_description(c.oid, 'pg_class'),
     case when c.relkind = 'S' then coalesce(pg_sequence_last_value(c.oid)::text, 'unused') end)
   from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_index i on i.indexrelid = c.oid
   where ${users("n.nspname")} and coalesce(i.indisvalid or c.relkind = 'I', true) and c.relpersistence <> 't' and not ${ofExtension("pg_class", "c.oid")}
     and not (c.relkind in ('i', 'I') and ${ofExtension("pg_class", "i.indrelid")})`,
  `select 'column ' || a.attrelid::regclass::text || ' ' || quote_ident(a.attname), concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
     (select string_agg(format('%s:%s', case x.grantee when 0 then 'public' else pg_get_userbyid(x.grantee) end, x.privilege_type), ',' order by pg_get_userbyid(x.grantee), x.privilege_type) from aclexplode(a.attacl) x))
   from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
   where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v', 'm', 'f', 'c') and c.relpersistence <> 't' and ${users("n.nspname")} and not ${ofExtension("pg_class", "c.oid")}`,
  `select 'function ' || p.oid::regprocedure::text, concat_ws(' ', p.prokind, pg_get_userbyid(p.proowner), p.prosecdef, p.provolatile, p.proparallel, p.proleakproof, md5(p.prosrc),
     array_to_string(p.proconfig, ','), ${grants("p.proacl", "'f'", "p.proowner")}, obj_description(p.oid, 'pg_proc'))
   from pg_proc p join pg_namespace n on n.oid = p.pronamespace where ${users("n.nspname")} and not ${ofExtension("pg_proc", "p.oid")}`,
  `select 'type ' || t.oid::regtype::text, concat_ws(' ', t.typtype, t.typnotnull, pg_get_userbyid(t.typowner), ${grants("t.typacl", "'T'", "t.typowner")},
     (select string_agg(quote_literal(e.enumlabel), ',' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid))
   from pg_type t join pg_namespace n on n.oid = t.typnamespace left join pg_class c on c.oid = t.typrelid
   where ${users("n.nspname")} and t.typelem = 0 and coalesce(c.relkind = 'c', true) and t.typtype <> 'm' and not ${ofExtension("pg_type", "t.oid")}`,
  `select format('policy %I on %s', p.polname, p.polrelid::regclass), concat_ws(' ', p.polcmd, p.polpermissive,
     (select string_agg(case r when 0 then 'public' else pg_get_userbyid(r) end, ',' order by pg_get_userbyid(r)) from unnest(p.polroles) r),
     p.polqual is not null, p.polwithcheck is not null)
   from pg_policy p`,
  `select format('trigger %I on %s', t.tgname, t.tgrelid::regclass), concat_ws(' ', t.tgenabled, t.tgfoid::regprocedure, t.tgtype, encode(t.tgargs, 'hex'))
   from pg_trigger t where not t.tgisinternal`,
  // PostgreSQL 18 has constraints for NOT NULL, too.
  `select format('constraint %I on %s %s', k.conname, nullif(k.conrelid, 0)::regclass, nullif(k.contypid, 0)::regtype), concat_ws(' ', k.contype, k.convalidated, k.condeferrable, k.condeferred, nullif(k.confrelid, 0)::regclass)
   from pg_constraint k join pg_namespace n on n.oid = k.connamespace where ${users("n.nspname")} and k.contype <> 'n' and not ${ofExtension("pg_class", "k.conrelid")} and not ${ofExtension("pg_type", "k.contypid")}`,
  `select 'extension ' || quote_ident(e.extname), concat_ws(' ', pg_get_userbyid(e.extowner), e.extnamespace::regnamespace) from pg_extension e`,
  `select 'large object ' || l.oid::text, concat_ws(' ', pg_get_userbyid(l.lomowner), ${grants("l.lomacl", "'L'", "l.lomowner")}, obj_description(l.oid, 'pg_largeobject'))
   from pg_largeobject_metadata l`,
  ...named.map(
    (
      catalogue
    ) => `select '${catalogue} ' || (pg_identify_object('${catalogue}'::regclass, x.oid, 0)).identity, '' from ${catalogue} x
     where x.oid >= 16384 and not ${ofExtension(catalogue, "x.oid")}${catalogue === "pg_rewrite" ? ` and not ${ofExtension("pg_class", "x.ev_class")}` : catalogue === "pg_attrdef" ? ` and not ${ofExtension("pg_class", "x.adrelid")}` : ""}`
  )
].join("\nunion all\n")

/** Tables with rows, and what they have. Generated columns are made again from the others. */
const tablesSql = `
  select c.oid::regclass::text as name, pg_table_size(c.oid)::float8 as bytes, coalesce((select string_agg(quote_ident(a.attname), ', ' order by a.attname)
    from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''), '') as columns
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and c.relpersistence <> 't' and ${users("n.nspname")} and not ${ofExtension("pg_class", "c.oid")} order by 1`

const sum = (text: string) => `count(*)::text as rows, coalesce(sum(hashtextextended(${text}, 0)), 0)::text as digest`

/** Pages of a large object that are missing are zeros, and those at its end are of any length. */
const largeObjectsSql = `select ${sum(`loid::text || ':' || pageno::text || ':' || encode(rtrim(data, '\\x00'), 'hex')`)}
  from pg_largeobject where rtrim(data, '\\x00') <> ''`

const maxDifferences = 5

const mapOf = (rows: ReadonlyArray<Readonly<Record<string, unknown>>>) =>
  new Map(rows.map(({ how, what }) => [String(what), String(how)]))

/** What two maps have that the other one has not, or has otherwise. */
const differencesOf = (old: ReadonlyMap<string, string>, made: ReadonlyMap<string, string>) => [
  ...[...old].flatMap(([what, how]) => {
    const other = made.get(what)
    return other === undefined
      ? [`${what} is missing`]
      : other === how
        ? []
        : [`${what} is "${other}" instead of "${how}"`]
  }),
  ...[...made.keys()].filter((what) => !old.has(what)).map((what) => `${what} is new`)
]

const refused = (database: string, differences: ReadonlyArray<string>) =>
  new StartError({
    message: `The upgraded database ${database} differs from the old one, which is used as before: ${differences.slice(0, maxDifferences).join("; ")}${differences.length > maxDifferences ? `; and ${differences.length - maxDifferences} more` : ""}`
  })

/**
 * Fails unless two databases have the same objects with the same owners and rights, and the same rows: as many, and the same
 * sum of their hashes. `report` runs with the fraction that was compared, 0–1.
 */
export const compareDatabases = Effect.fnUntraced(function* (
  database: string,
  old: Ask,
  made: Ask,
  report: (fraction: number) => Effect.Effect<void>
) {
  const both = (text: string) => Effect.all([old(text), made(text)], { concurrency: 2 })
  const [before, after] = yield* both(objectsSql)
  const differences = differencesOf(mapOf(before), mapOf(after))
  if (differences.length > 0) return yield* refused(database, differences)

  const tables = yield* old(tablesSql)
  const size = tables.reduce((total, { bytes }) => total + Number(bytes), 0)
  let [rows, compared] = [0, 0]
  for (const { bytes, columns, name } of tables) {
    const text = `select ${sum(`row(${String(columns)})::text`)} from only ${String(name)}`
    const [[first], [second]] = yield* both(text)
    if (first?.["rows"] !== second?.["rows"] || first?.["digest"] !== second?.["digest"]) {
      const what =
        first?.["rows"] === second?.["rows"]
          ? "the content of its rows"
          : `${String(second?.["rows"])} rows instead of ${String(first?.["rows"])}`
      return yield* refused(database, [`table ${String(name)} has other rows (${what})`])
    }
    rows += Number(first?.["rows"])
    compared += Number(bytes)
    yield* report(compared / Math.max(1, size))
  }
  const [[first], [second]] = yield* both(largeObjectsSql)
  if (first?.["digest"] !== second?.["digest"]) return yield* refused(database, ["large objects have another content"])
  return { tables: tables.length, rows }
})
