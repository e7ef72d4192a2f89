/** A PostgreSQL type, as far as results need it. */
export interface SqlType {
  /** The name as `format_type(oid, null)` prints it: `integer`, `text[]`, `app.mood`. */
  readonly name: string
  /** The type of an array's elements and their delimiter. */
  readonly element?: { readonly oid: number; readonly delimiter: string }
  /** The oid of a domain's base type. */
  readonly base?: number
}

/** Oids of types that are handled specially; they never change. */
export const Oid = {
  bool: 16,
  int8: 20,
  int2: 21,
  int4: 23,
  oid: 26,
  json: 114,
  jsonArray: 199,
  box: 603,
  boxArray: 1020,
  float4: 700,
  float8: 701,
  date: 1082,
  timestamp: 1114,
  timestamptz: 1184,
  numeric: 1700,
  uuid: 2950,
  jsonb: 3802,
  jsonbArray: 3807
} as const

/** A type's oid, its name and its array type's oid. Other types are looked up in the database. */
const builtin: ReadonlyArray<readonly [oid: number, name: string, array: number]> = [
  [16, "boolean", 1000],
  [17, "bytea", 1001],
  [18, '"char"', 1002],
  [19, "name", 1003],
  [20, "bigint", 1016],
  [21, "smallint", 1005],
  [22, "int2vector", 1006],
  [23, "integer", 1007],
  [24, "regproc", 1008],
  [25, "text", 1009],
  [26, "oid", 1028],
  [27, "tid", 1010],
  [28, "xid", 1011],
  [30, "oidvector", 1013],
  [114, "json", 199],
  [142, "xml", 143],
  [600, "point", 1017],
  [601, "lseg", 1018],
  [602, "path", 1019],
  [603, "box", 1020],
  [604, "polygon", 1027],
  [628, "line", 629],
  [650, "cidr", 651],
  [700, "real", 1021],
  [701, "double precision", 1022],
  [718, "circle", 719],
  [774, "macaddr8", 775],
  [790, "money", 791],
  [829, "macaddr", 1040],
  [869, "inet", 1041],
  [1042, "character", 1014],
  [1043, "character varying", 1015],
  [1082, "date", 1182],
  [1083, "time without time zone", 1183],
  [1114, "timestamp without time zone", 1115],
  [1184, "timestamp with time zone", 1185],
  [1186, "interval", 1187],
  [1266, "time with time zone", 1270],
  [1560, "bit", 1561],
  [1562, "bit varying", 1563],
  [1700, "numeric", 1231],
  [2205, "regclass", 2210],
  [2206, "regtype", 2211],
  [2249, "record", 2287],
  [2950, "uuid", 2951],
  [3220, "pg_lsn", 3221],
  [3614, "tsvector", 3643],
  [3615, "tsquery", 3645],
  [3802, "jsonb", 3807],
  [3904, "int4range", 3905],
  [3906, "numrange", 3907],
  [3908, "tsrange", 3909],
  [3910, "tstzrange", 3911],
  [3912, "daterange", 3913],
  [3926, "int8range", 3927],
  [4072, "jsonpath", 4073],
  [4089, "regnamespace", 4090],
  [4096, "regrole", 4097],
  [4451, "int4multirange", 6150],
  [4532, "nummultirange", 6151],
  [4533, "tsmultirange", 6152],
  [4534, "tstzmultirange", 6153],
  [4535, "datemultirange", 6155],
  [4536, "int8multirange", 6157]
]

/** Types with the same oids in every database. */
export const builtinTypes: ReadonlyMap<number, SqlType> = new Map<number, SqlType>([
  ...builtin.map(([oid, name]) => [oid, { name }] as const),
  ...builtin.map(
    ([oid, name, array]) =>
      [array, { name: `${name}[]`, element: { oid, delimiter: oid === Oid.box ? ";" : "," } }] as const
  ),
  [705, { name: "unknown" }],
  [2278, { name: "void" }]
])

/**
 * Describes the types with the oids in `$1` (text of an oid array) and all types they consist of: oid, name, for true
 * arrays the element's oid and delimiter, for domains the base type's oid. `int2vector` and similar types have elements
 * too, but are not printed as arrays.
 */
export const lookUpTypes = `with recursive reached as (
  select t.oid, t.typdelim,
    case when t.typoutput = 'pg_catalog.array_out'::pg_catalog.regproc then t.typelem end as element,
    case when t.typtype = 'd' then t.typbasetype end as base
  from pg_catalog.pg_type t where t.oid = any ($1::pg_catalog.oid[])
  union
  select t.oid, t.typdelim,
    case when t.typoutput = 'pg_catalog.array_out'::pg_catalog.regproc then t.typelem end,
    case when t.typtype = 'd' then t.typbasetype end
  from reached r join pg_catalog.pg_type t on t.oid = coalesce(r.base, r.element)
)
select oid, pg_catalog.format_type(oid, null), element, typdelim, base from reached`

/** Reads a row of `lookUpTypes`. */
export const typeOfRow = (row: ReadonlyArray<string | null>): readonly [oid: number, type: SqlType] => {
  const [oid, name, element = null, delimiter, base = null] = row
  return [
    Number(oid),
    {
      name: name ?? "???",
      ...(base !== null ? { base: Number(base) } : {}),
      ...(base === null && element !== null ? { element: { oid: Number(element), delimiter: delimiter ?? "," } } : {})
    }
  ]
}
