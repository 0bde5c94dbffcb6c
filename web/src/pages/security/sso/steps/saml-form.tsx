import { type SsoChange, usePutSso } from '../../../../parts/sso-settings.ts'
import { sso } from '../../../../strings/sso.ts'
import { ui } from '../../../../strings/ui.ts'
import { SaveForm } from '../../../../ui/save-form.tsx'
import { optionsOf } from '../../../../ui/select.tsx'
import { fieldsOf, SelectField, TextAreaField, TextField } from '../../../../ui/text-field.tsx'
import { useDraft } from '../../../../ui/use-draft.ts'
import { useSave } from '../../../../ui/use-save.ts'

const empty = { way: 'url', url: '', xml: '', entityId: '', ssoUrl: '', certificates: '' }
type Draft = typeof empty

/** Several certificates in one text. A text without any goes to the service as it is, which says what is wrong. */
export const splitCertificates = (text: string): string[] =>
  text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [text]

const bodyOf = ({ way, url, xml, entityId, ssoUrl, certificates }: Draft): SsoChange => {
  if (way === 'url') return { protocol: 'saml', idp_metadata_url: url }
  if (way === 'xml') return { protocol: 'saml', idp_metadata_xml: xml }
  const single = { idp_entity_id: entityId, idp_sso_url: ssoUrl, idp_certificates: splitCertificates(certificates) }
  return { protocol: 'saml', ...single }
}

type Faults = { fault: (path: string) => string | undefined }
type FieldsProps = { value: Draft; change: (part: Partial<Draft>) => void } & Faults

const Fields = ({ value, change, fault }: FieldsProps) => {
  const field = fieldsOf(value, change, fault)
  const code = { spellCheck: false, className: 'font-mono text-xs' }
  if (value.way === 'url') {
    const { idpMetadataUrl: label, idpMetadataUrlHelp: help } = sso
    return <TextField label={label} help={help} type="url" {...field('url', 'idp_metadata_url')} />
  }
  if (value.way === 'xml') {
    return <TextAreaField label={sso.idpMetadataXml} rows={10} {...code} {...field('xml', 'idp_metadata_xml')} />
  }
  return (
    <>
      <TextField label={sso.idpEntityId} {...field('entityId', 'idp_entity_id')} />
      <TextField label={sso.idpSsoUrl} type="url" {...field('ssoUrl', 'idp_sso_url')} />
      <TextAreaField
        label={sso.idpCertificate}
        help={sso.idpCertificateHelp}
        rows={8}
        {...code}
        {...field('certificates', 'idp_certificates')}
      />
    </>
  )
}

export const SamlForm = ({ onSaved }: { onSaved: () => void }) => {
  const draft = useDraft('sso-saml', empty)
  const put = usePutSso()
  const form = useSave(() => put(bodyOf(draft.value)), {
    message: ui.saved,
    done: () => {
      draft.forget()
      onSaved()
    },
  })
  return (
    <SaveForm onSubmit={form.save} form={form} gate="requireOwnerSession" action={sso.saveProvider}>
      <SelectField
        label={sso.way}
        error={form.fault('protocol')}
        value={draft.value.way}
        onValue={(way) => {
          form.clear()
          draft.change({ way })
        }}
        options={optionsOf(sso.ways)}
      />
      <Fields value={draft.value} change={draft.change} fault={form.fault} />
    </SaveForm>
  )
}
