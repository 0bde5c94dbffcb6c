import { sso } from '../../../../strings/sso.ts'
import { ui } from '../../../../strings/ui.ts'
import { Button } from '../../../../ui/button.tsx'
import { Field } from '../../../../ui/field.tsx'
import { Input, TextArea } from '../../../../ui/input.tsx'
import { Select } from '../../../../ui/select.tsx'
import { Form } from '../../../../ui/templates.tsx'
import { toast } from '../../../../ui/toasts.tsx'
import { useDraft } from '../../../../ui/use-draft.ts'
import { useSubmit } from '../../../sign-in/use-submit.ts'
import { type SsoChange, usePutSso } from '../settings.ts'

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
  if (value.way === 'url') {
    return (
      <Field label={sso.idpMetadataUrl} help={sso.idpMetadataUrlHelp} error={fault('idp_metadata_url')}>
        <Input type="url" value={value.url} onChange={(event) => change({ url: event.target.value })} />
      </Field>
    )
  }
  if (value.way === 'xml') {
    return (
      <Field label={sso.idpMetadataXml} error={fault('idp_metadata_xml')}>
        <TextArea
          rows={10}
          spellCheck={false}
          className="font-mono text-xs"
          value={value.xml}
          onChange={(event) => change({ xml: event.target.value })}
        />
      </Field>
    )
  }
  return (
    <>
      <Field label={sso.idpEntityId} error={fault('idp_entity_id')}>
        <Input value={value.entityId} onChange={(event) => change({ entityId: event.target.value })} />
      </Field>
      <Field label={sso.idpSsoUrl} error={fault('idp_sso_url')}>
        <Input type="url" value={value.ssoUrl} onChange={(event) => change({ ssoUrl: event.target.value })} />
      </Field>
      <Field
        label={sso.idpCertificate}
        help={sso.idpCertificateHelp}
        error={fault('idp_certificates') ?? fault('idp_certificates.0')}
      >
        <TextArea
          rows={8}
          spellCheck={false}
          className="font-mono text-xs"
          value={value.certificates}
          onChange={(event) => change({ certificates: event.target.value })}
        />
      </Field>
    </>
  )
}

export const SamlForm = ({ onSaved }: { onSaved: () => void }) => {
  const draft = useDraft('sso-saml', empty)
  const form = useSubmit()
  const put = usePutSso()
  const save = () =>
    form.submit(async () => {
      await put(bodyOf(draft.value))
      draft.forget()
      toast(ui.saved)
      onSaved()
    })
  return (
    <Form
      onSubmit={save}
      error={form.rest}
      actions={
        <Button type="submit" look="primary" busy={form.busy} gate="requireOwnerSession">
          {sso.saveProvider}
        </Button>
      }
    >
      <Field label={sso.way} error={form.fault('protocol')}>
        <Select
          value={draft.value.way}
          onValue={(way) => {
            form.clear()
            draft.change({ way })
          }}
          options={Object.entries(sso.ways).map(([value, label]) => ({ value, label }))}
        />
      </Field>
      <Fields value={draft.value} change={draft.change} fault={form.fault} />
    </Form>
  )
}
