package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// codecs encodes and decodes the JSON of a client: objects here, other answers by the library.
type codecs struct{ dropManagedFields bool }

// libraryTypes are the types that the library encodes and decodes.
var libraryTypes = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}()

// SupportedMediaTypes returns JSON.
func (c codecs) SupportedMediaTypes() []runtime.SerializerInfo {
	library := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, libraryTypes, libraryTypes,
		kjson.SerializerOptions{})
	ours := codec{library, c.dropManagedFields}
	return []runtime.SerializerInfo{{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json",
		EncodesAsText: true, Serializer: ours,
		StreamSerializer: &runtime.StreamSerializerInfo{
			EncodesAsText: true,
			Serializer:    ours,
			Framer:        kjson.Framer,
		},
	}}
}

// EncoderForVersion returns an encoder that writes objects unchanged and adds version and kind to
// the types of the library.
func (c codecs) EncoderForVersion(
	encoder runtime.Encoder, gv runtime.GroupVersioner,
) runtime.Encoder {
	return versioned{
		encoder,
		runtime.WithVersionEncoder{Version: gv, Encoder: encoder, ObjectTyper: libraryTypes},
	}
}

type versioned struct {
	runtime.Encoder
	library runtime.Encoder
}

// Encode writes an object, or a type of the library.
func (v versioned) Encode(obj runtime.Object, w io.Writer) error {
	if _, ok := obj.(*unstructured.Unstructured); ok {
		return v.Encoder.Encode(obj, w)
	}
	return v.library.Encode(obj, w)
}

// DecoderToVersion returns the decoder unchanged: nothing is converted.
func (c codecs) DecoderToVersion(
	decoder runtime.Decoder, _ runtime.GroupVersioner,
) runtime.Decoder {
	return decoder
}

// codec encodes and decodes single JSON texts.
type codec struct {
	runtime.Serializer
	dropManagedFields bool
}

// Encode writes an object.
func (c codec) Encode(obj runtime.Object, w io.Writer) error {
	if obj, ok := obj.(*unstructured.Unstructured); ok {
		return json.NewEncoder(w).Encode(obj.Object)
	}
	return c.Serializer.Encode(obj, w)
}

// Decode reads the type of into. If that is nil, it reads a Status or an object.
func (c codec) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		return c.object(data, into)
	case *unstructured.UnstructuredList:
		return c.list(data, into)
	case *metav1.WatchEvent:
		return into, &schema.GroupVersionKind{}, json.Unmarshal(data, into)
	case nil:
		out, gvk, err := c.object(data, &unstructured.Unstructured{})
		if err == nil && *gvk != (schema.GroupVersionKind{Version: "v1", Kind: "Status"}) {
			return out, gvk, nil
		}
	}
	out, gvk, err := c.Serializer.Decode(data, defaults, into)
	if runtime.IsMissingKind(err) || runtime.IsMissingVersion(err) {
		err = errNoKind
	}
	return out, gvk, err
}

// errNoKind is the error of an answer that is no object. That of the library quotes the answer,
// which may be a Secret.
var errNoKind = errors.New("the answer has no apiVersion or no kind")

func (c codec) object(
	data []byte, into *unstructured.Unstructured,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if c.dropManagedFields {
		data = nullAt(objectManagedFields, data)
	}
	fields, err := decode(data)
	if err != nil {
		return nil, nil, err
	}
	c.trim(fields)
	into.Object = fields
	gvk := into.GroupVersionKind()
	if gvk.Kind == "" {
		return nil, &gvk, errNoKind
	}
	return into, &gvk, nil
}

// list reads a page of a list. Its items may lack an apiVersion and a kind. An answer that is not a
// list with items is an error: the objects would count as absent.
func (c codec) list(
	data []byte, into *unstructured.UnstructuredList,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if c.dropManagedFields {
		data = nullAt(listManagedFields, data)
	}
	fields, err := decode(data)
	if err != nil {
		return nil, nil, err
	}
	value, found := fields["items"]
	items, listed := value.([]any)
	delete(fields, "items")
	into.Object, into.Items = fields, make([]unstructured.Unstructured, len(items))
	gvk := into.GroupVersionKind()
	switch {
	case gvk.Kind == "":
		return nil, &gvk, errNoKind
	case !listed && (!found || value != nil || !strings.HasSuffix(gvk.Kind, "List")):
		return nil, &gvk, fmt.Errorf("the answer to a list is a %s without a list of items", gvk.Kind)
	}
	for i := range items {
		item, ok := items[i].(map[string]any)
		if !ok {
			return nil, &gvk, fmt.Errorf("JSON: item %d of the list is not an object", i)
		}
		c.trim(item)
		into.Items[i].Object = item
		if item["kind"] == nil && item["apiVersion"] == nil {
			into.Items[i].SetGroupVersionKind(itemOf(gvk))
		}
	}
	return into, &gvk, nil
}

// decode reads a JSON object. Whole numbers that fit are int64, all others float64.
func decode(data []byte) (map[string]any, error) {
	var fields map[string]any
	err := utiljson.Unmarshal(data, &fields)
	if err == nil && fields == nil {
		err = fmt.Errorf("JSON: %.20q is not an object", data)
	}
	return fields, err
}

// trim deletes the managed fields of an object if the codec drops them.
func (c codec) trim(fields map[string]any) {
	if metadata, ok := fields["metadata"].(map[string]any); ok && c.dropManagedFields {
		delete(metadata, "managedFields")
	}
}

// itemOf returns the kind of the items of a kind of list.
func itemOf(list schema.GroupVersionKind) schema.GroupVersionKind {
	if n := len(list.Kind) - len("List"); n > 0 && list.Kind[n:] == "List" {
		list.Kind = list.Kind[:n]
	}
	return list
}
