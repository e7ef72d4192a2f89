import { Effect } from "effect"
import { integer, SettingError } from "../../domain/Settings.ts"

/** The least that SVC_AUDIT_DAYS may be: svc.prune_audit() deletes nothing that is younger. */
const least = 30

/** Days that entries of the audit are kept; 0: for ever. */
export const auditDays = Effect.filterOrFail(
  integer("SVC_AUDIT_DAYS", 365, 0, 36_500),
  (days) => days === 0 || days >= least,
  (days) =>
    new SettingError({ message: `SVC_AUDIT_DAYS must be 0, or a whole number from ${least}, but it is "${days}"` })
)
