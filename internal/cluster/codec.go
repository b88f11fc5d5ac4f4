package cluster

import (
	"encoding/json"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/muster-deploy/muster/internal/wire"
)

// codecs is the JSON of a client: that of objects, read in a form, and by the library that of what else servers answer.
type codecs struct{ form wire.Form }

// known are the types that are read and written by the library.
var known = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}()

// SupportedMediaTypes is JSON.
func (c codecs) SupportedMediaTypes() []runtime.SerializerInfo {
	library := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, known, known, kjson.SerializerOptions{})
	ours := codec{library, c.form}
	return []runtime.SerializerInfo{{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true, Serializer: ours,
		StreamSerializer: &runtime.StreamSerializerInfo{EncodesAsText: true, Serializer: ours, Framer: kjson.Framer},
	}}
}

// EncoderForVersion writes objects as they are, and gives what the library writes its version and kind.
func (c codecs) EncoderForVersion(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	return versioned{encoder, runtime.WithVersionEncoder{Version: gv, Encoder: encoder, ObjectTyper: known}}
}

type versioned struct {
	runtime.Encoder
	library runtime.Encoder
}

// Encode writes an object, or an answer or option of the library.
func (v versioned) Encode(obj runtime.Object, w io.Writer) error {
	if _, ok := obj.(*unstructured.Unstructured); ok {
		return v.Encoder.Encode(obj, w)
	}
	return v.library.Encode(obj, w)
}

// DecoderToVersion converts nothing.
func (c codecs) DecoderToVersion(decoder runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return decoder
}

// codec reads and writes single texts.
type codec struct {
	runtime.Serializer
	form wire.Form
}

// Encode writes an object.
func (c codec) Encode(obj runtime.Object, w io.Writer) error {
	if obj, ok := obj.(*unstructured.Unstructured); ok {
		return json.NewEncoder(w).Encode(obj.Object)
	}
	return c.Serializer.Encode(obj, w)
}

// Decode reads what is asked for; where that is left open a refusal, or an object.
func (c codec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		return c.object(data, into)
	case *unstructured.UnstructuredList:
		return c.list(data, into)
	case *metav1.WatchEvent:
		var err error
		into.Type, into.Object.Raw, err = wire.Event(data)
		return into, &schema.GroupVersionKind{}, err
	case nil:
		out, gvk, err := c.object(data, &unstructured.Unstructured{})
		if err == nil && *gvk != (schema.GroupVersionKind{Version: "v1", Kind: "Status"}) {
			return out, gvk, nil
		}
	}
	return c.Serializer.Decode(data, defaults, into)
}

func (c codec) object(data []byte, into *unstructured.Unstructured) (_ runtime.Object, _ *schema.GroupVersionKind, err error) {
	if into.Object, err = wire.Object(data, c.form); err != nil {
		return nil, nil, err
	}
	gvk := into.GroupVersionKind()
	if gvk.Kind == "" {
		return nil, &gvk, runtime.NewMissingKindErr(string(data))
	}
	return into, &gvk, nil
}

// list reads a page. Its items need not say what they are.
func (c codec) list(data []byte, into *unstructured.UnstructuredList) (runtime.Object, *schema.GroupVersionKind, error) {
	head, items, err := wire.List(data, c.form)
	if err != nil {
		return nil, nil, err
	}
	into.Object, into.Items = head, make([]unstructured.Unstructured, len(items))
	gvk := into.GroupVersionKind()
	if gvk.Kind == "" {
		return nil, &gvk, runtime.NewMissingKindErr(string(data))
	}
	for i := range items {
		into.Items[i].Object = items[i]
		if items[i]["kind"] == nil && items[i]["apiVersion"] == nil {
			into.Items[i].SetGroupVersionKind(itemOf(gvk))
		}
	}
	return into, &gvk, nil
}

// itemOf is the kind of the items of a kind of list.
func itemOf(list schema.GroupVersionKind) schema.GroupVersionKind {
	if n := len(list.Kind) - len("List"); n > 0 && list.Kind[n:] == "List" {
		list.Kind = list.Kind[:n]
	}
	return list
}
