/**
 * What a schema consists of: one row for each part, with the table that it belongs to, if any, and the table's columns that
 * it is about. `optional`: rows that a program inserts without knowing the part are accepted.
 */
export const partsSql = `
  with own as (
    select c.oid, c.relname::text as name, c.relkind::text as kind, c.relrowsecurity, c.relforcerowsecurity, c.relacl
    from pg_class c where c.relnamespace = 'svc'::regnamespace)
  select 'relation ' || name as part, name as "table", '{}'::text[] as columns,
    concat_ws(' ', kind, relrowsecurity, relforcerowsecurity, relacl::text,
      case when kind = 'v' then pg_get_viewdef(oid) end) as definition, true as optional
  from own where kind in ('r', 'p', 'v', 'm', 'S', 'f')
  union all
  select 'column ' || o.name || '.' || a.attname, o.name, array[a.attname::text],
    concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
      pg_get_expr(d.adbin, d.adrelid), a.attacl::text),
    not a.attnotnull or a.attidentity <> '' or a.attgenerated <> '' or d.oid is not null
  from own o join pg_attribute a on a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where o.kind in ('r', 'p', 'v', 'm', 'f')
  union all
  select 'constraint ' || coalesce(o.name, '') || '.' || k.conname, o.name,
    array(select attname::text from pg_attribute where attrelid = k.conrelid and attnum = any (k.conkey)),
    pg_get_constraintdef(k.oid), false
  from pg_constraint k left join own o on o.oid = k.conrelid
  where k.connamespace = 'svc'::regnamespace and k.contype <> 'n'
  union all
  select 'index ' || x.name, o.name,
    array(select attname::text from pg_attribute where attrelid = o.oid and attnum = any (i.indkey)),
    pg_get_indexdef(x.oid), not i.indisunique
  from pg_index i join own o on o.oid = i.indrelid join own x on x.oid = i.indexrelid
  union all
  select 'trigger ' || o.name || '.' || t.tgname, o.name, '{}', concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled), false
  from pg_trigger t join own o on o.oid = t.tgrelid where not t.tgisinternal
  union all
  select 'policy ' || o.name || '.' || p.polname, o.name, '{}',
    concat_ws(' ', p.polcmd, p.polroles::text, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)), false
  from pg_policy p join own o on o.oid = p.polrelid
  union all
  select 'function ' || p.oid::regprocedure, null, '{}',
    concat_ws(' ', pg_get_functiondef(p.oid), p.proacl::text), true
  from pg_proc p where p.pronamespace = 'svc'::regnamespace and p.prokind <> 'a'
  union all
  select 'type ' || t.typname, null, '{}', concat_ws(' ', t.typtype, format_type(t.typbasetype, t.typtypmod),
    array(select enumlabel::text from pg_enum where enumtypid = t.oid order by enumsortorder)::text), true
  from pg_type t where t.typnamespace = 'svc'::regnamespace and t.typtype in ('d', 'e', 'r')
  order by 1`

export interface Part {
  readonly part: string
  readonly table: string | null
  readonly columns: ReadonlyArray<string>
  readonly definition: string
  readonly optional: boolean
}

/**
 * What a program that knows the schema before cannot rely on any more: parts that are missing or different, and new ones
 * that its own writes may violate, or that make them do something else. What concerns new tables, or only new columns of
 * the others, is its own affair.
 */
export const contradictions = (before: ReadonlyArray<Part>, after: ReadonlyArray<Part>): ReadonlyArray<string> => {
  const parts = new Map(after.map((one) => [one.part, one]))
  const known = new Set(before.map(({ part }) => part))
  const isNew = ({ columns, table }: Part) =>
    table === null ||
    !known.has(`relation ${table}`) ||
    (columns.length > 0 && columns.every((column) => !known.has(`column ${table}.${column}`)))
  const changed = before.flatMap(({ definition, part }) => {
    const now = parts.get(part)
    if (now === undefined) return [`${part} is missing`]
    return now.definition === definition ? [] : [`${part} is different: ${definition} -> ${now.definition}`]
  })
  const added = after.flatMap((one) => {
    const { optional, part, table } = one
    if (known.has(part) || optional) return []
    if (part.startsWith("column ")) {
      return known.has(`relation ${table}`) ? [`${part} is required, without a default`] : []
    }
    return isNew(one) ? [] : [`${part} is new on a table that exists: ${one.definition}`]
  })
  return [...changed, ...added]
}
