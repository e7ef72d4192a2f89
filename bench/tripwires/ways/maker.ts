import { type Random } from "../../isolation/random.ts"

/** The types of the values that the generated code passes around, with a value of each as an SQL literal. */
export const kinds = {
  int: "1",
  bigint: "'2'::bigint",
  text: "'a'::text",
  bool: "true",
  numeric: "1.5",
  uuid: "'00000000-0000-0000-0000-000000000001'::uuid",
  timestamptz: "'2020-01-01 00:00:00+00'::timestamptz",
  jsonb: `'{"a": 1}'::jsonb`,
  "int[]": "'{1}'::int[]",
  int4range: "'[1,2)'::int4range"
} as const
export type Kind = keyof typeof kinds

export const namesOfKinds = Object.keys(kinds) as ReadonlyArray<Kind>

/** What an expression may use where it stands. */
interface Scope {
  /** The name of an argument or variable of the function, which also is `x` of the outermost expression. */
  readonly arg?: string | undefined
  /** The function that the argument belongs to. */
  readonly fn?: string | undefined
  /** Checks, defaults and index expressions have no subqueries. */
  readonly flat?: boolean
}

/** An expression of the case's kind over an expression `x` of that kind. */
export type Expr = (x: string, at: Scope) => string

/** A function `(a kind) returns kind`, in SQL and in the search path of requests if its schema is `public`. */
export interface Fn {
  readonly schema: string
  readonly name: string
}

export const called = ({ name, schema }: Fn, x: string) => `${schema}.${name}(${x})`

/** The first key of the advisory locks that tripwires take; the second is the number of the case. */
export const lockClass = 4711

/** Collects the statements that make the objects of one case. */
export class Maker {
  readonly ddl: Array<string> = []
  /** The ways that were chosen. */
  readonly ways: Array<string> = []
  private made = 0

  readonly random: Random
  readonly kind: Kind
  readonly id: number

  constructor(random: Random, kind: Kind, id: number) {
    this.random = random
    this.kind = kind
    this.id = id
  }

  /** Names hold the number of the case: what is unclean in one case must not look so in another. */
  readonly name = (what: string) => `c${this.id}_${what}${++this.made}`

  readonly operator = () =>
    `@${(++this.made + this.id * 100).toString(4).replaceAll(/\d/g, (d) => "#%&|"[Number(d)] ?? "")}@`

  readonly add = (sql: string) => void this.ddl.push(sql)

  readonly way = <A>(ways: Readonly<Record<string, A>>): A => {
    const way = this.random.of(Object.keys(ways))
    this.ways.push(way)
    return ways[way] as A
  }

  get literal() {
    return kinds[this.kind]
  }

  /** A schema for functions: found without its name, or not. */
  readonly schema = () => (this.random.chance(0.92) ? "public" : "other")

  /**
   * A function that is called by others with code that PostgreSQL's planner may look into. `result` and `args` as in
   * CREATE FUNCTION.
   */
  readonly glue = (name: string, args: string, result: string, value: string, more = "") => {
    const { random } = this
    const volatility = random.of(["immutable", "immutable", "stable", ""])
    const head = `create function ${name}(${args}) ${result} ${volatility} ${more}`
    this.add(
      random.of([
        () => `${head} language sql as $g$ select ${value} $g$`,
        () =>
          /any|variadic/.test(args) ? `${head} language sql as $g$ select ${value} $g$` : `${head} return ${value}`,
        () =>
          /out /.test(args)
            ? `${head} language sql as $g$ select ${value} $g$`
            : `${head} language plpgsql as $g$ begin ${/setof/.test(result) ? "return next" : "return"} ${value}; end $g$`
      ])()
    )
  }

  /** The function whose calls are counted, and which leaves a lock in the session that it ran in. */
  readonly tripwire = (): Fn => {
    const { id, kind, random } = this
    const fn = { schema: this.schema(), name: `c${id}_trip` }
    if (fn.schema === "other" && random.chance(0.5)) {
      this.add(`create function public.${fn.name}(a ${kind}) returns ${kind} stable language sql as $d$ select a $d$`)
    }
    const volatility = random.of(["immutable", "immutable", "immutable", "stable", "volatile"])
    const more = random.of([
      "",
      "",
      "",
      "security definer",
      "set search_path = public",
      "strict",
      "leakproof",
      "cost 1"
    ])
    this
      .add(`create function ${fn.schema}.${fn.name}(a ${kind}) returns ${kind} ${volatility} ${more} language plpgsql as $t$ begin
      perform pg_catalog.pg_advisory_lock_shared(${lockClass}, ${id});
      perform pg_catalog.pg_stat_force_next_flush();
      return a; end $t$`)
    return fn
  }
}
