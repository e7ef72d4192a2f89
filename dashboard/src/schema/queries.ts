import { useQuery } from "@tanstack/react-query"
import type { OperatorClass } from "../catalogue/sql/indexes.ts"
import type { ArgumentDraft, FunctionDraft } from "../catalogue/sql/functions.ts"
import { call } from "../wire/call.ts"

export interface EnumType {
  readonly schema: string
  readonly name: string
  readonly values: ReadonlyArray<string>
  /** Columns of this type. */
  readonly columns: number
}

export interface StoredFunction {
  readonly schema: string
  readonly name: string
  readonly kind: FunctionDraft["kind"]
  readonly identity: string
  readonly given: string
  readonly returns: string | null
  readonly language: string
  readonly definer: boolean
  /** Part of an extension, which users do not change. */
  readonly extension: boolean
}

interface Definitions {
  readonly schemas: ReadonlyArray<{ readonly name: string; readonly comment: string | null }>
  readonly enums: ReadonlyArray<EnumType>
  readonly functions: ReadonlyArray<StoredFunction>
  /** Of triggers, in all schemas. */
  readonly trigger_functions: ReadonlyArray<{ readonly schema: string; readonly name: string }>
  readonly languages: ReadonlyArray<string>
  readonly methods: ReadonlyArray<string>
  readonly operators: ReadonlyArray<OperatorClass>
  /** Indexes that belong to a constraint, which are dropped with it. */
  readonly constraints: ReadonlyArray<{ readonly schema: string; readonly name: string }>
}

const ofUsers = "n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'svc', 'svc_ddl')"
const ofExtension = (catalogue: string, oid: string) =>
  `exists (select from pg_depend d where d.classid = '${catalogue}'::regclass and d.objid = ${oid} and d.deptype = 'e')`
const listOf = (row: string, from: string, order: string) =>
  `(select coalesce(json_agg(json_build_object(${row}) order by ${order}), '[]') from ${from})`

/** What the schema's description lacks: names apart from their schemas, and what a form offers. */
const definitionsSql = `select
  ${listOf("'name', n.nspname, 'comment', obj_description(n.oid, 'pg_namespace')", `pg_namespace n where ${ofUsers}`, "n.nspname")} as schemas,
  ${listOf(
    `'schema', n.nspname, 'name', t.typname,
     'values', (select coalesce(json_agg(e.enumlabel order by e.enumsortorder), '[]') from pg_enum e where e.enumtypid = t.oid),
     'columns', (select count(*) from pg_attribute a join pg_class c on c.oid = a.attrelid
       where a.atttypid in (t.oid, t.typarray) and not a.attisdropped and c.relkind in ('r', 'p', 'f'))`,
    `pg_type t join pg_namespace n on n.oid = t.typnamespace where t.typtype = 'e' and ${ofUsers} and not ${ofExtension("pg_type", "t.oid")}`,
    "n.nspname, t.typname"
  )} as enums,
  ${listOf(
    `'schema', n.nspname, 'name', p.proname, 'kind', case p.prokind when 'p' then 'procedure' else 'function' end,
     'identity', pg_get_function_identity_arguments(p.oid), 'given', pg_get_function_arguments(p.oid),
     'returns', pg_get_function_result(p.oid), 'language', l.lanname, 'definer', p.prosecdef,
     'extension', ${ofExtension("pg_proc", "p.oid")}`,
    `pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
     where p.prokind in ('f', 'p', 'w') and ${ofUsers}`,
    "n.nspname, p.proname, pg_get_function_arguments(p.oid)"
  )} as functions,
  ${listOf(
    "'schema', n.nspname, 'name', p.proname",
    `pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.prorettype = 'trigger'::regtype
     and (${ofUsers} or n.nspname = 'pg_catalog')`,
    "n.nspname = 'pg_catalog', n.nspname, p.proname"
  )} as trigger_functions,
  (select coalesce(json_agg(lanname order by lanname), '[]') from pg_language where lanname not in ('internal', 'c')) as languages,
  (select json_agg(amname order by amname <> 'btree', amname) from pg_am where amtype = 'i') as methods,
  ${listOf(
    "'schema', n.nspname, 'name', o.opcname, 'method', m.amname",
    "pg_opclass o join pg_am m on m.oid = o.opcmethod join pg_namespace n on n.oid = o.opcnamespace where not o.opcdefault",
    "n.nspname = 'pg_catalog', o.opcname"
  )} as operators,
  ${listOf(
    "'schema', n.nspname, 'name', i.relname",
    `pg_constraint k join pg_class i on i.oid = k.conindid join pg_namespace n on n.oid = i.relnamespace
     where k.contype in ('p', 'u', 'x') and ${ofUsers}`,
    "1"
  )} as constraints`

export const useDefinitions = () =>
  useQuery({
    queryKey: ["catalogue", "definitions"],
    queryFn: async ({ signal }) => {
      const { rows } = await call("POST /v1/sql", { payload: { sql: definitionsSql, read_only: true }, signal })
      return rows[0] as unknown as Definitions
    },
    staleTime: 30_000
  })

export interface FunctionDetails {
  /** Without that which the form does not show, and would lose. */
  readonly plain: boolean
  readonly definition: string
  readonly returns: string | null
  readonly language: string
  readonly volatility: FunctionDraft["volatility"]
  readonly parallel: FunctionDraft["parallel"]
  readonly strict: boolean
  readonly definer: boolean
  readonly path: string | null
  readonly body: string
  readonly comment: string | null
  readonly arguments: ReadonlyArray<Omit<ArgumentDraft, "id">>
}

const detailsSql = `select
  not p.proleakproof and p.prosupport = 0 and p.protrftypes is null and p.prosqlbody is null
    and p.prokind in ('f', 'p') and p.procost = 100 and p.prorows in (0, 1000)
    and (p.proconfig is null or cardinality(p.proconfig) = 1 and starts_with(p.proconfig[1], 'search_path=')) as plain,
  pg_get_functiondef(p.oid) as definition, pg_get_function_result(p.oid) as returns, l.lanname as language,
  case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end as volatility,
  case p.proparallel when 's' then 'safe' when 'r' then 'restricted' else 'unsafe' end as parallel,
  p.proisstrict as strict, p.prosecdef as definer,
  (select substr(c, 13) from unnest(p.proconfig) c where starts_with(c, 'search_path=')) as path,
  p.prosrc as body, obj_description(p.oid, 'pg_proc') as comment,
  (select coalesce(json_agg(json_build_object(
     'mode', case p.proargmodes[a.at] when 'o' then 'out' when 'b' then 'inout' when 'v' then 'variadic' else 'in' end,
     'name', coalesce(p.proargnames[a.at], ''), 'type', format_type(a.type, null),
     'default', coalesce(pg_get_function_arg_default(p.oid, a.at::int), '')) order by a.at), '[]')
   from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality a(type, at)
   where coalesce(p.proargmodes[a.at], 'i') <> 't') as arguments
from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
where n.nspname = $1 and p.proname = $2 and pg_get_function_identity_arguments(p.oid) = $3`

export const useFunctionDetails = (one: StoredFunction | undefined) =>
  useQuery({
    queryKey: ["catalogue", "function", one?.schema, one?.name, one?.identity],
    queryFn: async ({ signal }) => {
      const params = [one?.schema ?? "", one?.name ?? "", one?.identity ?? ""]
      const { rows } = await call("POST /v1/sql", { payload: { sql: detailsSql, params, read_only: true }, signal })
      return (rows[0] ?? null) as unknown as FunctionDetails | null
    },
    enabled: one !== undefined,
    // What is edited must be what is there.
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false
  })
