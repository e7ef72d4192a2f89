import { Effect, Schema, Semaphore } from "effect"
import { shownBranch } from "../../domain/audit/Shown.ts"
import { type Branch, BranchId, type NewBranch } from "../../domain/branches/Branch.ts"
import { Conflict, Forbidden } from "../../domain/errors.ts"
import { describeChange } from "../audit/Change.ts"
import { Branches } from "../branches/Branches.ts"
import { McpSettings } from "./Settings.ts"
import { needsServiceRole, tool } from "./Tool.ts"

/**
 * The label of a branch that a tool has made begins so. Models write to and drop these only: their instructions may come
 * from data that they have read.
 */
const mark = "mcp: "
const maxBranches = 5
const [defaultHours, maxHours] = [24, 168]

export const isOwnBranch = ({ label }: Pick<Branch, "label">) => label.startsWith(mark)

const Create = Schema.Struct({
  label: Schema.NonEmptyString.check(Schema.isMaxLength(50)),
  ttl_hours: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxHours })).annotate({
      description: `Hours after which it is dropped; default ${defaultHours}`
    })
  )
})
const Drop = Schema.Struct({ branch: BranchId })

const tooMany = new Conflict({
  error: `There are already ${maxBranches} branches of create_branch`,
  code: "MCP_BRANCH_LIMIT",
  hint: "Drop one with drop_branch"
})
const notOwn = new Forbidden({ error: "Only branches that create_branch has made can be dropped", code: "MCP_NOT_OWN" })

/**
 * A branch without the connection string, which contains the password of a new one, and without the database's name.
 */
const shown = ({ access, created_at, expires_at, id, label, size_bytes, status }: Branch) => ({
  id,
  label,
  status,
  access,
  size_bytes,
  created_at,
  expires_at,
  writable: isOwnBranch({ label })
})

/** Tools for branches: copies of the main database, to try statements in. */
export const makeBranchTools = Effect.gen(function* () {
  const branches = yield* Branches
  const { mode } = yield* McpSettings
  const oneByOne = yield* Semaphore.make(1)
  const common = { serviceRole: true, data: false }

  const list = tool({
    ...common,
    name: "list_branches",
    title: "List branches",
    description: "Lists the branches of the database: copies to try statements in.",
    input: Schema.Struct({}),
    reads: true,
    run: Effect.fnUntraced(function* (caller) {
      if (caller.actor.role !== "service_role") return yield* needsServiceRole
      return JSON.stringify((yield* branches.list).map(shown))
    })
  })

  const created = Effect.fnUntraced(function* (given: NewBranch) {
    if ((yield* branches.list).filter(isOwnBranch).length >= maxBranches) return yield* tooMany
    return yield* branches.create(given)
  })

  const create = tool({
    ...common,
    name: "create_branch",
    title: "Create a branch",
    description: "Copies the main database into a branch, in which run_sql may write and change tables.",
    input: Create,
    reads: false,
    run: Effect.fnUntraced(function* (caller, { label, ttl_hours }) {
      if (caller.actor.role !== "service_role") return yield* needsServiceRole
      const given = { label: `${mark}${label}`, ttlHours: ttl_hours ?? defaultHours }
      const branch = yield* oneByOne.withPermit(created(given))
      yield* describeChange({ subject: `branch:${branch.id}`, after: shownBranch(branch) })
      return JSON.stringify(shown(branch))
    })
  })

  const drop = tool({
    ...common,
    name: "drop_branch",
    title: "Drop a branch",
    description: "Drops a branch that create_branch has made.",
    input: Drop,
    reads: false,
    run: Effect.fnUntraced(function* (caller, { branch }) {
      if (caller.actor.role !== "service_role") return yield* needsServiceRole
      const before = yield* branches.find(branch)
      yield* describeChange({ subject: `branch:${branch}`, before: shownBranch(before) })
      if (!isOwnBranch(before)) return yield* notOwn
      yield* branches.remove(branch)
      return JSON.stringify({ success: true })
    })
  })

  return mode === "read" ? [list] : [list, create, drop]
})
