import { Context } from "effect"
import { type Author } from "../../domain/Author.ts"

/** Who calls the management API, put there by middleware/Access.ts for what keeps a history. */
export class CurrentAuthor extends Context.Service<CurrentAuthor, Author>()("svc/http/CurrentAuthor") {}
