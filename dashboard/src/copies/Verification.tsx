import { moment } from "../ui/format.ts"
import type { Backup } from "./queries.ts"

interface VerificationProps {
  readonly of: Pick<Backup, "verification" | "verified_at" | "verify_error" | "warnings">
  /** Whether a badge also stands for the warnings, which are not beside it. */
  readonly short?: boolean
}

/** Whether a trial restore had the same content. */
export const Verification = ({
  of: { verification, verified_at, verify_error, warnings },
  short = false
}: VerificationProps) => {
  const title = verify_error ?? undefined
  if (verification === "passed") {
    return (
      <span className="badge good" title={verified_at === null ? undefined : moment(verified_at)}>
        {short || verified_at === null ? "verified" : `restored and compared, ${moment(verified_at)}`}
      </span>
    )
  }
  if (verification === "failed" || verification === "skipped") {
    return (
      <span className={verification === "failed" ? "badge bad" : "badge warn"} title={title}>
        {verification}
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

/** Why it was not verified, and what a restore lacks. */
export const VerificationNotes = ({ of: { verification, verify_error, warnings } }: VerificationProps) =>
  verify_error === null && warnings.length === 0 ? null : (
    <ul className="note">
      {verify_error === null ? null : (
        <li>
          Verification {verification}: {verify_error}
        </li>
      )}
      {warnings.map((warning) => (
        <li key={warning}>{warning}</li>
      ))}
    </ul>
  )
