/** The codes of PostgREST that occur here, with its meaning; see RequestCodes.ts. */
export const postgrestCodes = {
  PGRST100: [
    400,
    "A query parameter can't be parsed, or is nested more than 64 levels deep: `error` has parameter, line and column; `details` what was found and expected"
  ],
  PGRST101: [405, "Functions support GET, HEAD and POST"],
  PGRST102: [
    400,
    "The body is not valid JSON, CSV or form data, is not an object or an array of objects, or has an unsupported media type; a form has more than 1,600 fields, or CSV as many columns"
  ],
  PGRST103: [
    416,
    "The page starts beyond the last row, or ends before it starts; `Content-Range` has the number of rows"
  ],
  PGRST105: [405, "PUT with filters other than `eq` on each column of the primary key"],
  PGRST106: [406, "`Accept-Profile` or `Content-Profile` names a schema that is not in `SVC_DB_SCHEMAS`"],
  PGRST107: [406, "No media type of `Accept` is available"],
  PGRST108: [400, "A filter, order or limit on an embed that is not in `select`"],
  PGRST111: [500, "A function set an invalid `response.headers`"],
  PGRST112: [500, "A function set an invalid `response.status`"],
  PGRST114: [400, "PUT with `limit` or `offset`"],
  PGRST115: [400, "PUT with a body whose primary key differs from the filters"],
  PGRST116: [
    406,
    "One row was requested (`application/vnd.pgrst.object+json`), but there are none or several. Nothing was written"
  ],
  PGRST117: [405, "Rows have no such HTTP method; see `Allow`"],
  PGRST118: [400, "Ordered by an embed that is an array"],
  PGRST120: [400, "A filter on a whole embed other than `is.null` or `not.is.null`"],
  PGRST121: [500, "A function raised `PGRST` with invalid JSON"],
  PGRST122: [400, "Unknown preference, with `handling=strict`"],
  PGRST123: [400, "Aggregates are disabled: `SVC_DB_AGGREGATES=true`"],
  PGRST124: [400, "More rows than `max-affected` match. Nothing was changed"],
  PGRST125: [404, "No such path below `/v1/db/`"],
  PGRST127: [400, "An aggregate in a spread array"],
  PGRST128: [400, "`max-affected` on a function that does not return a set of rows"],
  PGRST200: [400, "No relationship between the two tables; `hint` has similar names"],
  PGRST201: [300, "Several relationships match: add a name from `details` after `!`"],
  PGRST202: [404, "No function with this name and these arguments, which are matched by name"],
  PGRST203: [300, "Several functions match: pass more arguments, or rename one"],
  PGRST204: [400, "No such column in the table"],
  PGRST205: [404, "No such table or view in the schema: check that it is exposed"],
  PGRST301: [401, "On `/rest/v1`, the JWT is invalid or has expired (`JWT_…` on other paths): sign in again"]
} as const
