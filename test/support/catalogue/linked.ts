import * as fc from "fast-check"

/** SQL that makes what PostgreSQL may choose for any statement, and that undoes what the schema `public` does not hold. */
export interface Linked {
  readonly make: string
  readonly unmake?: string
}

/** Types of the columns of `linkedTable`, with a value of each. */
const types = {
  int: "1",
  bigint: "1",
  text: "a",
  varchar: "a",
  numeric: "1",
  date: "2020-01-01",
  jsonb: "{}",
  json: "{}",
  "int[]": "{1}",
  "text[]": "{a}",
  int4range: "[1,2)",
  tsvector: "a",
  point: "(1,1)",
  "plain.mood": "sad",
  "plain.mood[]": "{sad}"
} as const

const names = Object.keys(types) as ReadonlyArray<keyof typeof types>
const type = fc.constantFrom(...names)
const schema = fc.constantFrom("public", "pg_catalog")
const column = (at: number) => `c${at}`

export const linkedTable = `create table linked (id int primary key, ${names.map((type, at) => `${column(at)} ${type}`).join(", ")});
  insert into linked values (1, ${names.map((type) => `'${types[type]}'`).join(", ")});
  insert into linked (id) values (2);`

/** Queries that compare, sort, group and render columns of all types. */
export const linkedQueries = names.flatMap((type, at) => {
  const name = column(at)
  const value = encodeURIComponent(types[type])
  const lines = ["eq", "neq", "gt", "lte", "like", "match", "cs", "cd", "ov", "sl", "adj"].flatMap((operator) => [
    `linked?select=id&${name}=${operator}.${value}`,
    `linked?select=id&${name}=not.${operator}.${value}`
  ])
  lines.push(
    `linked?order=${name}`,
    `linked?select=${name}&${name}=in.(${value})`,
    `linked?select=${name},id.count()`,
    `linked?select=${name}.max(),x:${name}.min()`,
    `linked?select=${name}.sum()`,
    `linked?select=${name}-%3Ea&${name}-%3E%3Ea=eq.b`,
    `linked?id=isdistinct.5&${name}=isdistinct.${value}`
  )
  return lines
})

let made = 0
const spy = (args: string, returns: string, what = "null") => {
  made += 1
  const name = `public.linked_${made}`
  return {
    name,
    make: `create function ${name}(${args}) returns ${returns} language plpgsql immutable as
      $spy$ begin execute 'select nextval(''spy.ran'')'; return ${what}; end $spy$;`
  }
}

const operator = fc
  .record({
    schema,
    name: fc.constantFrom(
      "=",
      "<>",
      "<",
      ">",
      "<=",
      "~~",
      "~~*",
      "~",
      "@>",
      "<@",
      "&&",
      "<<",
      "-|-",
      "@@",
      "->",
      "->>"
    ),
    left: type,
    right: type
  })
  .map(({ left, name, right, schema }): Linked => {
    const fn = spy(`a ${left}, b ${right}`, "bool", "true")
    return {
      make: `${fn.make} create operator ${schema}.${name} (leftarg = ${left}, rightarg = ${right}, function = ${fn.name});`
    }
  })

const cast = fc
  .record({ from: type, to: type, as: fc.constantFrom("", "as assignment", "as implicit") })
  .map(({ from, to, as }): Linked => {
    const fn = spy(`a ${from}`, to)
    return {
      make: `${fn.make} create cast (${from} as ${to}) with function ${fn.name} (${from}) ${as};`
    }
  })

const order = fc
  .record({ type, method: fc.constantFrom("btree", "hash"), standard: fc.boolean() })
  .map(({ method, standard, type }): Linked => {
    const fn = method === "btree" ? spy(`a ${type}, b ${type}`, "int", "0") : spy(`a ${type}`, "int", "1")
    const equal = spy(`a ${type}, b ${type}`, "bool", "true")
    const args = method === "btree" ? `${type}, ${type}` : type
    const signs = method === "btree" ? ["#<", "#<=", "#=", "#>=", "#>"] : ["#="]
    return {
      make: `${fn.make} ${equal.make}
        ${signs.map((sign) => `create operator public.${sign} (leftarg = ${type}, rightarg = ${type}, function = ${equal.name});`).join(" ")}
        create operator class public.linked_order ${standard ? "default" : ""} for type ${type} using ${method} as
          ${signs.map((sign, at) => `operator ${at + 1} public.${sign}`).join(", ")}, function 1 ${fn.name} (${args});`
    }
  })

/** An operator that names one of PostgreSQL's as its opposite, by which the planner replaces `not (a op b)`. */
const opposite = fc
  .constantFrom("@>", "<@", "&&")
  .chain((sign) =>
    fc.tuple(fc.constant(sign), fc.constantFrom("anyarray", "anyrange", ...(sign === "&&" ? [] : ["jsonb"])))
  )
  .map(([sign, type]): Linked => {
    const fn = spy(`a ${type}, b ${type}`, "bool", "true")
    return {
      make: `${fn.make}
        create operator public.#&# (leftarg = ${type}, rightarg = ${type}, function = ${fn.name}, negator = operator(pg_catalog.${sign}));`
    }
  })

/**
 * A function of PostgreSQL's operators that a superuser replaces. PostgreSQL calls its own in C all the same, except where
 * the planner inlines the new one.
 */
const replaced = fc
  .record({
    fn: fc.constantFrom("textlike", "texticlike", "jsonb_contains", "date_le"),
    body: fc.constantFrom("language sql as 'select spy.pass(true)'", "return spy.pass(true)")
  })
  .map(({ body, fn }): Linked => ({
    make: `do $make$
        declare args text; body text;
        begin
          select pg_get_function_arguments(p.oid), pg_get_functiondef(p.oid) into args, body from pg_proc p
            where proname = '${fn}' and pronamespace = 'pg_catalog'::regnamespace;
          create table replaced as select body;
          execute format('create or replace function pg_catalog.${fn}(%s) returns bool immutable ', args) || $body$${body}$body$;
        end $make$;`,
    unmake: "do $unmake$ begin execute (select body from replaced); end $unmake$"
  }))

const overload = fc
  .record({ name: fc.constantFrom("row_to_json", "to_json", "max", "length", "count", "json_strip_nulls"), type })
  .map(({ name, type }): Linked => {
    const fn = `pg_catalog.${name}(${type})`
    return {
      make: `create function ${fn} returns json language plpgsql as
        $spy$ begin execute 'select nextval(''spy.ran'')'; return null; end $spy$; grant execute on function ${fn} to public;`,
      unmake: `drop function ${fn}`
    }
  })

export const linked: fc.Arbitrary<Linked> = fc.oneof(operator, cast, order, opposite, replaced, overload)
