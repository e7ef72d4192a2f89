import { Context } from "effect"
import { type Author } from "../../domain/Author.ts"
import { type KeyType } from "../../domain/access/ApiKey.ts"
import { NotFound } from "../../domain/errors.ts"
import { type Actor } from "../../services/ports/Db.ts"

/** The caller of a `/v1` or `/ofrep` request, by its API key and JWT. */
export interface Caller {
  readonly keyType: KeyType
  readonly actor: Actor
  /** Set for paths of Supabase's clients, whose defaults differ. */
  readonly supabase?: true
  /** The person behind a request that a page of the dashboard sends by its session. */
  readonly author?: Author
}

/**
 * The router decodes percent-encoding before it matches a route, the gate does not: `/%761/db/notes` is not a `/v1` path
 * to the gate, so that no key was checked.
 */
export const noGate = new NotFound({ error: "No such route: /v1 and /ofrep must not be percent-encoded" })

/** The caller of the management API, as histories record it. Access.ts sets it. */
export class CurrentAuthor extends Context.Service<CurrentAuthor, Author>()("svc/http/CurrentAuthor") {}
