import {
  buildFactBase,
  type DependencyEdge,
  encodeId,
  type Fact,
  type FactBase,
  type FactKind,
  type StableId
} from "@supabase/pg-delta/core"

/** One of two databases: its schema, and the role as which the service acts in it, which owns what it creates. */
export interface SchemaSide {
  readonly facts: FactBase
  readonly role: string
}

/**
 * What becomes of each kind of object. `elsewhere`: belongs to the server, or no branch has it. `reported`: a difference is said,
 * because only a superuser can make it. Kinds that the library adds are errors of types here.
 */
const kinds: Readonly<Record<FactKind, "compared" | "elsewhere" | "reported">> = {
  schema: "compared",
  extension: "compared",
  table: "compared",
  column: "compared",
  default: "compared",
  constraint: "compared",
  index: "compared",
  sequence: "compared",
  view: "compared",
  materializedView: "compared",
  rule: "compared",
  trigger: "compared",
  policy: "compared",
  function: "compared",
  procedure: "compared",
  aggregate: "compared",
  domain: "compared",
  type: "compared",
  typeAttribute: "compared",
  collation: "compared",
  foreignTable: "compared",
  server: "compared",
  publication: "compared",
  publicationRel: "compared",
  publicationSchema: "compared",
  acl: "compared",
  defaultPrivilege: "compared",
  comment: "compared",
  securityLabel: "compared",
  eventTrigger: "reported",
  fdw: "reported",
  language: "reported",
  role: "elsewhere",
  membership: "elsewhere",
  userMapping: "elsewhere",
  subscription: "elsewhere",
  extensionIntent: "elsewhere"
}

const ofKind = (what: "compared" | "elsewhere" | "reported") =>
  Object.entries(kinds).flatMap(([kind, is]) => (is === what ? [kind] : []))
export const reportedKinds = ofKind("reported")
/** Kinds that no statement changes. */
export const unchangedKinds = [...reportedKinds, ...ofKind("elsewhere")]

const ownersOf = (facts: FactBase) =>
  new Map(
    facts.edges.flatMap(({ from, kind, to }) =>
      kind === "owner" && to.kind === "role" ? [[encodeId(from), to.name] as const] : []
    )
  )

const databaseOwner = "pg_database_owner"

type Map1 = (name: string) => string

/** The id with roles renamed. */
const renamedId = (id: StableId, role: Map1): StableId => {
  if (id.kind === "role") return { ...id, name: role(id.name) }
  if (id.kind === "acl") return { ...id, grantee: role(id.grantee) }
  if (id.kind === "defaultPrivilege") return { ...id, role: role(id.role), grantee: role(id.grantee) }
  return id.kind === "comment" || id.kind === "securityLabel" ? { ...id, target: renamedId(id.target, role) } : id
}

/** Facts of a database as if the service's role in it were `as`; `ownerOf` gives the owner that an object has then. */
const rewritten = (
  { facts, role }: SchemaSide,
  as: string,
  ownerOf: (id: StableId) => string | undefined,
  skipped: (fact: Fact) => boolean
): FactBase => {
  const rename: Map1 = (name) => (name === role ? as : name)
  const kept = new Map<string, Fact>()
  for (const fact of facts.facts()) {
    if (skipped(fact)) continue
    const id = renamedId(fact.id, rename)
    const { roles } = fact.payload
    const payload =
      id.kind === "policy" && Array.isArray(roles)
        ? { ...fact.payload, roles: roles.map((name) => rename(String(name))).sort() }
        : fact.payload
    const parent = fact.parent === undefined ? {} : { parent: renamedId(fact.parent, rename) }
    // The first one stays: a privilege of the service's role, and one of the role whose name it gets, can't both be.
    if (!kept.has(encodeId(id))) kept.set(encodeId(id), { id, payload, ...parent })
  }
  const edges: Array<DependencyEdge> = []
  for (const edge of facts.edges) {
    const from = renamedId(edge.from, rename)
    const to = renamedId(edge.to, rename)
    if (edge.kind !== "owner") edges.push({ from, to, kind: edge.kind })
    else {
      const name = ownerOf(from)
      if (name !== undefined) edges.push({ from, to: { kind: "role", name }, kind: "owner" })
    }
  }
  const roles = edges.flatMap(({ to }) => (to.kind === "role" ? [to] : []))
  for (const id of roles) if (!kept.has(encodeId(id))) kept.set(encodeId(id), { id, payload: {} })
  return buildFactBase(
    Array.from(kept.values()),
    edges.filter(({ from, to }) => kept.has(encodeId(from)) && kept.has(encodeId(to)))
  )
}

/**
 * Both schemas as if the same role had made them. Everything in a branch belongs to the role of that branch, so owners are not
 * compared: an object keeps the owner that it has in `source`, and a new one belongs to the service's role there. What an owner
 * has granted itself goes with it.
 */
export const aligned = (source: SchemaSide, desired: SchemaSide): { source: FactBase; desired: FactBase } => {
  const [here, there] = [ownersOf(source.facts), ownersOf(desired.facts)]
  /** What the owner has granted itself, or the role that stands for the database's owner, and default privileges of the role that acts on the other side. */
  const skipped = (owners: ReadonlyMap<string, string>, other: string) => (fact: Fact) =>
    (fact.id.kind === "acl" && [owners.get(encodeId(fact.id.target)), databaseOwner].includes(fact.id.grantee)) ||
    (source.role !== desired.role && fact.id.kind === "defaultPrivilege" && fact.id.role === other)
  return {
    source: rewritten({ ...source }, source.role, (id) => here.get(encodeId(id)), skipped(here, desired.role)),
    desired: rewritten(desired, source.role, (id) => here.get(encodeId(id)) ?? source.role, skipped(there, source.role))
  }
}
