import { type Case } from "./cases.ts"

/** Leaves out statements that make a case's objects while it still fails; `fails` makes what is left. */
export const shrink = async (
  one: Case,
  fails: (candidate: Case) => Promise<boolean>
): Promise<ReadonlyArray<string>> => {
  let best = one.ddl
  const tries = async (ddl: ReadonlyArray<string>) => {
    if (await fails({ ...one, ddl })) best = ddl
  }
  const leaveOut = async () => {
    for (let at = best.length - 1; at >= 0; at--) await tries(best.filter((_, n) => n !== at))
  }
  // Its objects alone: else the other cases belong to it.
  if (!(await fails(one))) return best
  await leaveOut()
  // Bodies have semicolons of their own.
  await tries(
    best.flatMap((sql) => (/\$[a-z]\$/.test(sql) ? [sql] : sql.split(/;\s*/).filter((part) => part.trim() !== "")))
  )
  await leaveOut()
  return best
}
