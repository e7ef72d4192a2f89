import { keys } from "./migrations/0001_keys.ts"
import { realtime } from "./migrations/0002_realtime.ts"
import { webhooks } from "./migrations/0003_webhooks.ts"
import { flags } from "./migrations/0004_flags.ts"
import { identity } from "./migrations/0005_identity.ts"
import { environments } from "./migrations/0006_environments.ts"
import { connections } from "./migrations/0007_connections.ts"
import { appliedMigrations } from "./migrations/0008_applied_migrations.ts"
import { branches } from "./migrations/0009_branches.ts"
import { backups } from "./migrations/0010_backups.ts"
import { ddl } from "./migrations/0011_ddl.ts"
import { claimScopes } from "./migrations/0012_claim_scopes.ts"
import { branchAccess } from "./migrations/0013_branch_access.ts"
import { ddlRights } from "./migrations/0014_ddl_rights.ts"
import { backupDigests } from "./migrations/0015_backup_digests.ts"
import { dashboard } from "./migrations/0016_dashboard.ts"
import { accounts } from "./migrations/0017_accounts.ts"
import { accountTraces } from "./migrations/0031_account_traces.ts"
import { oauth2Revocations } from "./migrations/0032_oauth2_revocations.ts"
import { oauth2 } from "./migrations/0018_oauth2.ts"
import { identityLinks } from "./migrations/0019_identity_links.ts"
import { identityEvents } from "./migrations/0020_identity_events.ts"
import { branchProgress } from "./migrations/0021_branch_progress.ts"
import { audit } from "./migrations/0022_audit.ts"
import { webhookFormat } from "./migrations/0024_webhook_format.ts"
import { changeLog } from "./migrations/0027_change_log.ts"
import { rateCalls } from "./migrations/0028_rate_calls.ts"
import { changeGaps } from "./migrations/0029_change_gaps.ts"
import { branchObjects } from "./migrations/0035_branch_objects.ts"
import { recoveryDrills } from "./migrations/0039_recovery_drills.ts"
import { migrationAttempts } from "./migrations/0045_migration_attempts.ts"
import { oauth2LogoutNotices } from "./migrations/0049_oauth2_logout_notices.ts"
import { functions } from "./migrations/0050_functions.ts"
import { schedules } from "./migrations/0051_schedules.ts"
import { queues } from "./migrations/0052_queues.ts"
import { mailData } from "./migrations/0053_mail_data.ts"
import { queueConsumers } from "./migrations/0054_queue_consumers.ts"
import { workspace } from "./migrations/0056_workspace.ts"
import { charts } from "./migrations/0057_charts.ts"
import { tableChanges } from "./migrations/0036_table_changes.ts"
import { implicitCasts } from "./migrations/0034_implicit_casts.ts"
import { backupChecks } from "./migrations/0033_backup_checks.ts"
import { oauth2Subjects } from "./migrations/0030_oauth2_subjects.ts"

/**
 * The service's own tables, in schema `svc`. Numbers only grow. The SQL of a released migration must never change,
 * because databases that have run it will not run it again.
 */
export const migrations = {
  "0001_keys": keys,
  "0002_realtime": realtime,
  "0003_webhooks": webhooks,
  "0004_flags": flags,
  "0005_identity": identity,
  "0006_environments": environments,
  "0007_connections": connections,
  "0008_applied_migrations": appliedMigrations,
  "0009_branches": branches,
  "0010_backups": backups,
  "0011_ddl": ddl,
  "0012_claim_scopes": claimScopes,
  "0013_branch_access": branchAccess,
  "0014_ddl_rights": ddlRights,
  "0015_backup_digests": backupDigests,
  "0016_dashboard": dashboard,
  "0017_accounts": accounts,
  "0018_oauth2": oauth2,
  "0019_identity_links": identityLinks,
  "0020_identity_events": identityEvents,
  "0021_branch_progress": branchProgress,
  "0022_audit": audit,
  "0024_webhook_format": webhookFormat,
  "0027_change_log": changeLog,
  "0028_rate_calls": rateCalls,
  "0029_change_gaps": changeGaps,
  "0030_oauth2_subjects": oauth2Subjects,
  "0031_account_traces": accountTraces,
  "0032_oauth2_revocations": oauth2Revocations,
  "0033_backup_checks": backupChecks,
  "0034_implicit_casts": implicitCasts,
  "0035_branch_objects": branchObjects,
  "0036_table_changes": tableChanges,
  "0039_recovery_drills": recoveryDrills,
  "0045_migration_attempts": migrationAttempts,
  "0049_oauth2_logout_notices": oauth2LogoutNotices,
  "0050_functions": functions,
  "0051_schedules": schedules,
  "0052_queues": queues,
  "0053_mail_data": mailData,
  "0054_queue_consumers": queueConsumers,
  "0056_workspace": workspace,
  "0057_charts": charts
}
