import { HttpApiSchema } from "effect/http-api"
import { ErrorBody } from "../front/ErrorBody.ts"

const ofStatus = (status: number) => ErrorBody.pipe(HttpApiSchema.status(status))

/** What any call of the client API may answer instead of what was asked for (docs/errors.md has the codes). */
export const clientErrors = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 429, 500, 503, 504].map(ofStatus)

/** What reads of rows may answer beside them: an embed or a function that is ambiguous, a range behind the last row. */
export const rowErrors = [...clientErrors, ...[300, 416].map(ofStatus)]
