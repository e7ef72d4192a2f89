/**
 * Numbers of the advisory locks by which replicas coordinate, in one place because equal numbers would block each other.
 * They are text because they exceed int4 and are written into SQL. A number must never change: replicas of two versions
 * may run at the same time.
 */

/** Held while installing: replicas that start together install one after another. */
export const installLock = "7298113042"
/** Held while creating the first keys, which are created once. */
export const firstKeysLock = "7298113043"
/** Held by the replica that deletes old webhook logs. */
export const pruneLock = "7298113044"
/** Held by a webhook worker that waits for notifications; svc.enqueue_webhooks() tries it (migration 0003). */
export const wakeUpLock = "7298113045"
/** Held while changing flags or segments, so that each change is validated against the one before. */
export const flagsLock = "7298113046"
/** Held while creating an environment, and while cleaning up after a failed creation. */
export const environmentsLock = "7298113047"
/** Held while creating the extension for foreign tables, which is created once. */
export const foreignDataLock = "7298113048"
/** Held during a run of migration files. */
export const migrationsLock = "7298113050"
/** Held while creating a branch. */
export const branchesLock = "7298113051"
/** Shared by running backups: the database is not copied to a branch meanwhile. */
export const backupsLock = "7298113052"
/** First of two numbers; the second is the id of a backup: held while it is running. */
export const backupRunLock = "72981153"
/** First of two numbers; the second is the id of a backup: held while it is copied to the object store. */
export const backupCopyLock = "72981154"
/** Held while the next backup to verify is chosen. */
export const backupVerifyLock = "7298113062"
/** Held in a branch's database, not in the main one, by the replica that fills the branch. */
export const branchFillLock = "7298113055"
/** Held while the first administrator is made, because a link makes only one. */
export const firstAdministratorLock = "7298113057"
/** Held by the replica that aborts old multipart uploads. */
export const uploadsLock = "7298113056"
/** Held by the replica that deletes old entries of the audit. */
export const auditLock = "7298113058"
/** Held by the session that reads the write-ahead log. */
export const changeLogLock = "7298113061"
/** Held while a recovery drill runs. */
export const recoveryDrillLock = "7298113063"
/** Held by the process that counts which tables have changed. */
export const tableCountsLock = "7298113064"
/** Held while the example is made or removed. */
export const exampleLock = "7298113065"
/** Held by the process that decides which runs of schedules begin. */
export const schedulesLock = "7298113071"
/** Held while lines of functions are written, so that their ids become visible in their order. */
export const functionLogsLock = "7298113081"
/** First of two numbers; the second is a hash of the owner: held while an item is added to a workspace. */
export const workspaceLock = "72981160"
/** Held while the login of a role's scheduled statements is made. */
export const scheduleLoginLock = "7298113072"
/** Held while a receiver of a queue waits for notifications; pgmq.svc_notify() tries it (migration 0052). */
export const queueWakeUpLock = "7298113066"
