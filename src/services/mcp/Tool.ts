import { Effect, Schema } from "effect"
import { type Author } from "../../domain/Author.ts"
import { type BranchId, BranchId as BranchIdSchema } from "../../domain/branches/Branch.ts"
import { type ClientError, Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { type Branches } from "../branches/Branches.ts"
import { type Actor, type Database, type Db } from "../ports/Db.ts"

/** The caller of a tool. */
export interface McpCaller {
  readonly actor: Actor
  readonly author: Author
}

/** A tool: its description for the model, and how the service runs it. */
export interface McpTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Schema.Codec<unknown, unknown>
  /** It can't write, whatever its input is. */
  readonly reads: boolean
  /** Whether a call may write, and so belongs in the audit. */
  readonly writes: (input: unknown) => boolean
  /** Whether the caller needs all rights on the database. */
  readonly serviceRole: boolean
  /** Whether the answer has texts that users of the database wrote. */
  readonly data: boolean
  readonly run: (caller: McpCaller, input: unknown) => Effect.Effect<string, ClientError>
}

/** Erases the type of a tool's input, which its schema has checked before it runs. */
export const tool = <A, I>(
  given: Omit<McpTool, "input" | "run" | "writes"> & {
    readonly input: Schema.Codec<A, I>
    readonly run: (caller: McpCaller, input: A) => Effect.Effect<string, ClientError>
    /** Whether a call writes; by default every call of a tool that is not read-only. */
    readonly writes?: (input: A) => boolean
  }
): McpTool => ({ writes: () => !given.reads, ...given }) as object as McpTool

/** Characters of an answer: more would fill a model's context. */
const maxAnswer = 256 * 1024

export const bounded = (text: string): Effect.Effect<string, InvalidRequest> =>
  text.length <= maxAnswer
    ? Effect.succeed(text)
    : Effect.fail(
        new InvalidRequest({
          error: "The result exceeds the limit of 256 KiB per tool call",
          code: "RESULT_TOO_LARGE",
          hint: "Select fewer columns or rows"
        })
      )

export const branchField = Schema.optionalKey(
  BranchIdSchema.annotate({ description: "Id of a branch; without it, the main database" })
)

export const needsServiceRole = new Forbidden({ error: "This tool requires a service_role key" })

/** The database that a call names. */
export const placeOf =
  (db: Db["Service"], branches: Branches["Service"]) =>
  (caller: McpCaller, branch: BranchId | undefined): Effect.Effect<Database, ClientError> =>
    branch === undefined ? Effect.succeed(db.main) : branches.database(branch, caller.actor.role)
