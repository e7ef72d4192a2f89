import { moment } from "../ui/format.ts"
import type { Backup } from "./queries.ts"

interface VerificationProps {
  readonly of: Pick<Backup, "verification" | "verified_at" | "verify_error" | "warnings">
  /** Shows reasons as titles only. */
  readonly short?: boolean
}

/** Whether a trial restore had the same content, and why not. */
export const Verification = ({
  of: { verification, verified_at, verify_error, warnings },
  short = false
}: VerificationProps) => {
  const reason = verify_error === null || short ? null : <span className="failed">{verify_error}</span>
  const title = verify_error ?? undefined
  if (verification === "passed") {
    return (
      <span className="badge good" title={verified_at === null ? undefined : moment(verified_at)}>
        {short || verified_at === null ? "verified" : `restored and compared, ${moment(verified_at)}`}
      </span>
    )
  }
  if (verification === "failed") {
    return (
      <span>
        <span className="badge bad" title={title}>
          failed
        </span>{" "}
        {reason}
      </span>
    )
  }
  if (verification === "skipped") {
    return (
      <span>
        <span className="badge warn" title={title}>
          skipped
        </span>{" "}
        {reason}
      </span>
    )
  }
  if (verification !== null) return <span className="soft">{verification}</span>
  return warnings.length > 0 && short ? (
    <span className="badge warn" title={warnings.join("\n")}>
      warnings
    </span>
  ) : (
    <span className="faint">no</span>
  )
}
