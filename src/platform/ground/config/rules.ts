/** Rules that span several variables, and the rules of production. */
import { isLoopback } from '../ip-address.ts'
import { type VariableName, type VariableValues, variables } from './env-variables.ts'
import { looksRandom } from './key-strength.ts'
import { fileVariableOf } from './secret-files.ts'

type IsMissing = (name: VariableName) => boolean

const required = (name: VariableName, reason: string): string =>
  `${name} is required ${reason} and must be ${variables[name].accepts.text}.`

const providerFaults = (values: VariableValues, isMissing: IsMissing): string[] => {
  const faults: string[] = []
  if (values.EMAIL_PROVIDER?.includes('smtp') && isMissing('SMTP_URL')) {
    faults.push(required('SMTP_URL', 'by EMAIL_PROVIDER=smtp'))
  }
  if (values.SMS_PROVIDER?.includes('smpp') && isMissing('SMPP_URL')) {
    faults.push(required('SMPP_URL', 'by SMS_PROVIDER=smpp'))
  }
  return faults
}

/** The embedded server has no replicas. */
const replicaFaults = (values: VariableValues, isMissing: IsMissing): string[] =>
  values.DATABASE_READ_URL !== undefined && isMissing('DATABASE_URL')
    ? [required('DATABASE_URL', 'by DATABASE_READ_URL')]
    : []

/** TLS on the SMTP port needs both files. Outside production it is optional: without files the port has no TLS. */
const submissionFaults = (values: VariableValues, isMissing: IsMissing): string[] => {
  if (values.SMTP_SUBMISSION_PORT === undefined) return []
  const production = values.NODE_ENV === 'production'
  if (values.SMTP_SUBMISSION_TLS === 'off') {
    return production ? ['SMTP_SUBMISSION_TLS cannot be off in production: it must be `starttls` or `implicit`.'] : []
  }
  const missingFiles = (['SMTP_SUBMISSION_TLS_CERT', 'SMTP_SUBMISSION_TLS_KEY'] as const).filter(isMissing)
  const needsTls = production || values.SMTP_SUBMISSION_TLS !== undefined || missingFiles.length === 1
  if (!needsTls) return []
  const reason = production ? 'by SMTP_SUBMISSION_PORT in production' : 'by TLS on SMTP_SUBMISSION_PORT'
  return missingFiles.map((name) => required(name, reason))
}

/** Without a certificate the port for bounces has no TLS. With one file only, the other was forgotten. */
const inboundFaults = (values: VariableValues, isMissing: IsMissing): string[] => {
  if (values.INBOUND_SMTP_PORT === undefined || values.SMTP_SUBMISSION_PORT !== undefined) return []
  const missingFiles = (['SMTP_SUBMISSION_TLS_CERT', 'SMTP_SUBMISSION_TLS_KEY'] as const).filter(isMissing)
  return missingFiles.length === 1 ? missingFiles.map((name) => required(name, 'by TLS on INBOUND_SMTP_PORT')) : []
}

/** Former keys are exempt, so that a weak key can be replaced without losing what it encrypted. */
const secrecyFaults = (values: VariableValues): string[] => {
  const faults: string[] = []
  if (values.MASTER_KEY && !looksRandom(values.MASTER_KEY)) {
    faults.push(
      'MASTER_KEY cannot be guessable in production: make a random key with `openssl rand -base64 32`. If the service has already used the current key, move that key to MASTER_KEY_PREVIOUS.',
    )
  }
  if (values.BASE_URL && new URL(values.BASE_URL).protocol === 'http:') {
    faults.push(
      'BASE_URL cannot be a plain http URL in production: set it to the https:// URL of the proxy in front of the service.',
    )
  }
  return faults
}

const isThisMachine = (host: string): boolean => host === 'localhost' || isLoopback(host.replace(/^\[|\]$/g, ''))

/** A client needs its secret and its issuer. Codes and tokens never travel over plain http to another machine. */
const signInFaults = (values: VariableValues, isMissing: IsMissing): string[] => {
  const needed = [
    ['GOOGLE_CLIENT_ID', 'GOOGLE_CLIENT_SECRET'],
    ['GITHUB_CLIENT_ID', 'GITHUB_CLIENT_SECRET'],
    ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'],
    ['OIDC_CLIENT_ID', 'OIDC_ISSUER'],
  ] as const
  const faults = needed.flatMap(([by, name]) =>
    values[by] !== undefined && isMissing(name) ? [required(name, `by ${by}`)] : [],
  )
  for (const name of ['GOOGLE_ISSUER', 'GITHUB_URL', 'GITHUB_API_URL', 'OIDC_ISSUER'] as const) {
    const url = values[name] === undefined ? undefined : new URL(values[name])
    if (url?.protocol !== 'http:') continue
    if (values.NODE_ENV === 'production' || !isThisMachine(url.hostname)) {
      faults.push(`${name} must be ${variables[name].accepts.text}.`)
    }
  }
  return faults
}

/** The same price cannot be that of two plans. The key of Stripe never travels over plain http to another machine. */
const paymentFaults = (values: VariableValues, isMissing: IsMissing): string[] => {
  if (values.PAYMENT_PROVIDER !== 'stripe') return []
  const needed = ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET', 'STRIPE_PRICE_PAYG', 'STRIPE_PRICE_PRO'] as const
  const faults = needed.filter(isMissing).map((name) => required(name, 'by PAYMENT_PROVIDER=stripe'))
  const shared = values.STRIPE_PRICE_PAYG?.find((price) => values.STRIPE_PRICE_PRO?.includes(price))
  if (shared !== undefined) faults.push(`STRIPE_PRICE_PAYG and STRIPE_PRICE_PRO both contain ${shared}.`)
  const url = values.STRIPE_API_URL === undefined ? undefined : new URL(values.STRIPE_API_URL)
  if (url?.protocol === 'http:' && (values.NODE_ENV === 'production' || !isThisMachine(url.hostname))) {
    faults.push(`STRIPE_API_URL must be ${variables.STRIPE_API_URL.accepts.text}.`)
  }
  return faults
}

const productionFaults = (values: VariableValues, isMissing: IsMissing): string[] => {
  if (values.NODE_ENV !== 'production') return []
  const faults: string[] = []
  for (const name of ['BASE_URL', 'SERVICE_DOMAIN', 'MASTER_KEY', 'EMAIL_PROVIDER'] as const) {
    if (isMissing(name)) faults.push(required(name, 'in production'))
  }
  for (const name of ['EMAIL_PROVIDER', 'SMS_PROVIDER'] as const) {
    if ((values[name] as string[] | undefined)?.includes('local')) {
      faults.push(`${name} cannot include local in production: it must be ${variables[name].accepts.text}.`)
    }
  }
  if (values.PAYMENT_PROVIDER === 'local') {
    faults.push(
      `PAYMENT_PROVIDER cannot be local in production: it must be ${variables.PAYMENT_PROVIDER.accepts.text}.`,
    )
  }
  if (values.DEV_TOOLS) faults.push('DEV_TOOLS cannot be on in production: remove it or set it to off.')
  if (values.WEBHOOK_ALLOW_INSECURE) {
    faults.push('WEBHOOK_ALLOW_INSECURE cannot be true in production: remove it or set it to false.')
  }
  return [...faults, ...secrecyFaults(values)]
}

/** A variable with an invalid value, or whose file cannot be read, is not missing: that is already reported. */
export const ruleFaults = (env: NodeJS.ProcessEnv, values: VariableValues): string[] => {
  const isMissing: IsMissing = (name) => !env[name]?.trim() && !env[fileVariableOf(name)]?.trim()
  return [
    ...providerFaults(values, isMissing),
    ...replicaFaults(values, isMissing),
    ...submissionFaults(values, isMissing),
    ...inboundFaults(values, isMissing),
    ...signInFaults(values, isMissing),
    ...paymentFaults(values, isMissing),
    ...productionFaults(values, isMissing),
  ]
}
